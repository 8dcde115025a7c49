#include "call/faults.hpp"
#include "base/immortal.hpp"
#include "base/notes.hpp"
#include "base/platform.hpp"
#include "base/random.hpp"
#include "call/settings.hpp"
#include "call/shared_faults.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {
namespace {

struct Plan {
    std::string entry;
    cushim_sim_fault_kind kind;
    int code;
    std::uint64_t nth;
    double probability;
    Random random;
    bool sticky;
    std::uint64_t delay_us;
    bool optional;
    std::uint64_t seen = 0, fired = 0;
    std::uint64_t key = 0; // of share_plan(); 0: only this process has the plan
    bool noted = false;    // note_unused()

    // A base name matches all ABI versions and per-thread variants.
    bool names(const Row &row) const {
        return entry == "*" || entry == row.name || entry == row.base;
    }

    bool fires() {
        ++seen;
        if (fired > 0 && !sticky) {
            return false;
        }
        if (probability > 0) {
            const double draw = static_cast<double>(random.next()) / 0x1p64;
            return (fired > 0 && sticky) || draw < probability;
        }
        return sticky ? seen >= nth : seen == nth;
    }
};

std::vector<Plan> &plans() {
    static Immortal<std::vector<Plan>> all;
    return *all;
}

// How often the client called each entry point, by base name, while faults are planned.
std::map<std::string, std::uint64_t> &client_calls() {
    static Immortal<std::map<std::string, std::uint64_t>> all;
    return *all;
}

void count_call(const Row &row) noexcept try {
    ++client_calls()[row.base];
} catch (...) { // out of memory: a report lacks this call
}

// "MemcpyAsync" of cudaMemcpyAsync_ptsz and of cuMemcpyAsync.
std::string_view stem_of(std::string_view entry) {
    entry.remove_prefix(entry.starts_with("cuda") ? 4 : 2);
    return entry.substr(0, entry.find('_'));
}

// "; similar: cuGraphInstantiateWithParams was called 2 times".
std::string similar_calls(const std::string &entry) {
    std::string text;
    if (entry == "*") {
        return text;
    }
    const std::string_view stem = stem_of(entry);
    for (const auto &[name, count] : client_calls()) {
        const std::string_view other = stem_of(name);
        if (name != entry && (other.starts_with(stem) || stem.starts_with(other))) {
            text += (text.empty() ? "; similar: " : ", ") + name + " was called " +
                    std::to_string(count) + (count == 1 ? " time" : " times");
        }
    }
    return text;
}

struct KnownRows {
    const Row *rows;
    unsigned int count;
};
// The tables of every runtime library that the process has loaded.
constexpr std::size_t most_tables = 16;
KnownRows known[most_tables];
std::size_t known_tables = 0;

std::uint64_t releases = 0;     // calls of release_hangs()
std::size_t hanging = 0;        // calls that hang now
std::uint64_t first_number = 1; // of the oldest plan; numbers stay unique after clear_faults()

// A hang that is never released ends by itself, long after every wait for enqueued work has timed
// out: after ten minutes by default.
std::chrono::milliseconds longest_hang() {
    constexpr std::uint64_t waits = 10, most = std::uint64_t(1) << 40;
    return std::chrono::milliseconds(std::min(settings().patience_ms, most) * waits);
}

void hang(const Row &row) {
    const std::uint64_t before = releases;
    const auto longest = longest_hang();
    ++hanging;
    std::unique_lock lock(Lock::mutex(), std::adopt_lock);
    const bool released =
        Lock::changed().wait_for(lock, longest, [&] { return releases != before; });
    lock.release();
    --hanging;
    if (!released) {
        note(std::string(row.name) + " hung as planned for " + std::to_string(longest.count()) +
             " ms and was not released (limit: ten times the setting 'patience')");
    }
}

void sleep_unlocked(std::uint64_t microseconds) {
    Unlocked unlocked;
    platform::sleep_us(microseconds);
}

} // namespace

bool faults_planned() noexcept {
    return !plans().empty();
}

PlannedFault consult_faults(const Row &row) noexcept {
    PlannedFault planned;
    bool hangs = false;
    std::uint64_t delay = 0;
    count_call(row);
    for (Plan &plan : plans()) {
        if (!plan.names(row)) {
            continue;
        }
        if (plan.seen == 0 && plan.key != 0) {
            tell_processes(plan.key, false);
        }
        if (!plan.fires()) {
            continue;
        }
        if (++plan.fired == 1 && plan.key != 0) {
            tell_processes(plan.key, true);
        }
        const auto code = static_cast<CUresult>(plan.code);
        switch (plan.kind) {
        case CUSHIM_SIM_FAULT_INSTEAD:
            planned.instead = code;
            break;
        case CUSHIM_SIM_FAULT_AFTER:
            planned.after = code;
            break;
        case CUSHIM_SIM_FAULT_ASYNC:
            planned.async = code;
            planned.async_plan = first_number + static_cast<std::uint64_t>(&plan - plans().data());
            break;
        case CUSHIM_SIM_FAULT_DELAY:
            delay += plan.delay_us;
            break;
        case CUSHIM_SIM_FAULT_HANG:
            hangs = true;
            break;
        }
    }
    // These release the lock, and other threads may then change the plans.
    if (delay > 0) {
        sleep_unlocked(delay);
    }
    if (hangs) {
        hang(row);
    }
    return planned;
}

void note_unused(const PlannedFault &fault, const char *call, std::uint64_t number) noexcept try {
    const std::uint64_t index = fault.async_plan - first_number;
    if (index >= plans().size() || std::exchange(plans()[index].noted, true)) {
        return;
    }
    note("the fault planned for the work of " + plans()[index].entry + " had no effect: " + call +
         " in call " + std::to_string(number) + " enqueued no work");
} catch (...) { // out of memory
}

bool is_entry_point(std::string_view entry) {
    for (unsigned int i = 0; i < driver_row_count; ++i) {
        if (entry == driver_rows[i].name || entry == driver_rows[i].base) {
            return true;
        }
    }
    // The runtime library may be loaded later.
    return entry == "*" || std::find(runtime_names, runtime_names + runtime_name_count, entry) !=
                               runtime_names + runtime_name_count;
}

std::uint64_t plan_fault(const cushim_sim_fault &fault) {
    if (fault.entry == nullptr || !is_entry_point(fault.entry)) {
        return 0;
    }
    plans().push_back({fault.entry, fault.kind, fault.code, fault.nth == 0 ? 1 : fault.nth,
                       fault.probability, Random(fault.seed), fault.sticky != 0, fault.delay_us,
                       fault.optional != 0});
    return first_number + plans().size() - 1;
}

std::uint64_t fault_fired(std::uint64_t number) noexcept {
    const std::uint64_t index = number - first_number;
    return index < plans().size() ? plans()[index].fired : 0;
}

void clear_faults() noexcept {
    first_number += plans().size();
    plans().clear();
    client_calls().clear();
    release_hangs();
}

void share_faults() {
    std::string all; // equal plans get different keys
    std::size_t not_shared = 0;
    for (Plan &plan : plans()) {
        all += plan.entry + ' ' + std::to_string(plan.kind) + ' ' + std::to_string(plan.code) +
               ' ' + std::to_string(plan.nth) + ' ' + std::to_string(plan.probability) + ';';
        plan.key = std::hash<std::string>()(all) | 1;
        not_shared += share_plan(plan.key) ? 0 : 1;
    }
    if (not_shared != 0) {
        note("planned faults that are not shared with child processes: " +
             std::to_string(not_shared) +
             "; each process counts only its own calls for a fault "
             "beyond the first " +
             std::to_string(most_shared_plans));
    }
}

void release_hangs() noexcept {
    ++releases;
    Lock::changed().notify_all();
}

void for_each_idle_fault(const std::function<void(const std::string &, bool is_error)> &line) {
    for (const Plan &plan : plans()) {
        if (plan.fired != 0) {
            continue;
        }
        const Elsewhere elsewhere = plan.key != 0 ? find_elsewhere(plan.key) : Elsewhere();
        if (elsewhere.has_fired) {
            continue;
        }
        const bool by_chance = plan.probability > 0 && (plan.seen > 0 || elsewhere.has_counted);
        line("the planned fault of " + plan.entry + " never fired; it saw " +
                 std::to_string(plan.seen) + (plan.seen == 1 ? " call" : " calls") +
                 similar_calls(plan.entry),
             !elsewhere.is_planned && !plan.optional && !by_chance);
    }
}

bool call_hangs() noexcept {
    return hanging != 0;
}

void add_known_rows(const Row *rows, unsigned int count) noexcept {
    for (std::size_t i = 0; i < known_tables; ++i) {
        if (known[i].rows == rows) {
            return;
        }
    }
    if (known_tables < most_tables) {
        known[known_tables++] = {rows, count};
    }
}

const Row *known_row(std::size_t index) noexcept {
    if (index < driver_row_count) {
        return &driver_rows[index];
    }
    index -= driver_row_count;
    for (std::size_t i = 0; i < known_tables; ++i) {
        if (index < known[i].count) {
            return &known[i].rows[index];
        }
        index -= known[i].count;
    }
    return nullptr;
}

} // namespace sim
