#include "call/shared_faults.hpp"
#include "base/immortal.hpp"
#include "base/platform.hpp"
#include "base/shared_state.hpp"

#include <atomic>
#include <utility>
#include <vector>

namespace sim {
namespace {

// In a memory file of the process, which its descendants open.
struct SharedPlans {
    static constexpr std::uint64_t own_magic = 0x73746c7561662d63; // "c-faults"
    struct Plan {
        std::atomic<std::uint64_t> key, counted, fired;
    };
    std::uint64_t magic;
    Plan plans[most_shared_plans];

    Plan *find(std::uint64_t key) noexcept {
        for (Plan &plan : plans) {
            if (plan.key == key) {
                return &plan;
            }
        }
        return nullptr;
    }
};

Shared<SharedPlans> &own() {
    static Immortal<Shared<SharedPlans>> plans;
    return *plans;
}

std::vector<Shared<SharedPlans>> of_ancestors() {
    std::vector<Shared<SharedPlans>> all;
    for (platform::File &file : platform::files_of_ancestors(sizeof(SharedPlans))) {
        if (auto plans = Shared<SharedPlans>::open(std::move(file))) {
            all.push_back(std::move(plans));
        }
    }
    return all;
}

} // namespace

bool share_plan(std::uint64_t key) {
    if (!own()) {
        own() = Shared<SharedPlans>::create();
    }
    // After a reset, the plan is known, and may have fired before.
    if (!own() || own()->find(key) != nullptr) {
        return true;
    }
    SharedPlans::Plan *const free = own()->find(0);
    if (free != nullptr) {
        free->key = key;
    }
    return free != nullptr;
}

void tell_processes(std::uint64_t key, bool has_fired) noexcept try {
    const auto tell = [&](SharedPlans::Plan *plan) {
        if (plan != nullptr) {
            (has_fired ? plan->fired : plan->counted) = 1;
        }
    };
    tell(own() ? own()->find(key) : nullptr);
    for (const auto &plans : of_ancestors()) {
        tell(plans->find(key));
    }
} catch (...) { // out of memory: the ancestors report it as not fired
}

Elsewhere find_elsewhere(std::uint64_t key) {
    Elsewhere found;
    const auto add = [&](const SharedPlans::Plan *plan) {
        found.has_counted = found.has_counted || (plan != nullptr && plan->counted != 0);
        found.has_fired = found.has_fired || (plan != nullptr && plan->fired != 0);
    };
    add(own() ? own()->find(key) : nullptr);
    for (const auto &plans : of_ancestors()) {
        const SharedPlans::Plan *const plan = plans->find(key);
        add(plan);
        found.is_planned = found.is_planned || plan != nullptr;
    }
    return found;
}

} // namespace sim
