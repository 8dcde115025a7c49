// Adversarial mode: nothing runs before somebody waits for it; then one legal order of many is taken, by a
// seed. What nobody needs is put off: who relies on it having run, or on it not reading memory any more,
// fails, and does so again with the same seed.
#include "engine.hpp"

#include <algorithm>
#include <unordered_set>

namespace sim {
namespace {

// One step in so many takes something that is not needed.
constexpr std::size_t detour = 8;

Random &generator() {
    Engine &e = engine();
    if (!e.seeded || e.seeded_with != settings().seed) {
        e.random = Random(settings().seed);
        e.seeded_with = settings().seed;
        e.seeded = true;
    }
    return e.random;
}

// The numbers of the targets' operations, and of all that they come after, directly or not.
struct Goal {
    std::unordered_set<std::uint64_t> targets, needed;
    unsigned int epoch = 0;

    // What is needed does not grow; it is sought anew only for targets that were none before.
    void aim_at(const std::vector<Ticket> &wanted) {
        const bool known = epoch == engine().epoch &&
                           std::all_of(wanted.begin(), wanted.end(), [&](const Ticket &ticket) {
                               return targets.contains(ticket->number);
                           });
        if (!known) {
            epoch = engine().epoch;
            targets.clear();
            needed.clear();
            seek(wanted);
        }
    }

  private:
    void seek(const std::vector<Ticket> &wanted) {
        std::vector<const Operation *> pending;
        const auto visit = [&](const Ticket &ticket) {
            if (!ticket->done && needed.insert(ticket->number).second) {
                pending.push_back(ticket.get());
            }
        };
        for (const Ticket &target : wanted) {
            targets.insert(target->number);
            visit(target);
        }
        while (!pending.empty()) {
            const Operation *operation = pending.back();
            pending.pop_back();
            std::for_each(operation->after.begin(), operation->after.end(), visit);
        }
    }
};

Goal &goal() {
    static auto *goal = new Goal; // used after static destructors
    return *goal;
}

} // namespace

bool adversarial_step(const std::vector<Ticket> &targets) {
    std::vector<Ticket> runnable;
    for (Stream *stream : engine().busy) {
        append_runnable_of(*stream, runnable);
    }
    if (runnable.empty()) {
        return false;
    }
    std::vector<Ticket> needed, others;
    if (targets.empty()) {
        needed = std::move(runnable);
    } else {
        goal().aim_at(targets);
        for (Ticket &operation : runnable) {
            const bool wanted = goal().needed.contains(operation->number);
            (wanted ? needed : others).push_back(std::move(operation));
        }
    }
    Random &random = generator();
    const bool detours = !others.empty() && (needed.empty() || random.below(detour) == 0);
    const std::vector<Ticket> &from = detours ? others : needed;
    execute(from[random.below(from.size())]);
    return true;
}

} // namespace sim
