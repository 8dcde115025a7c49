// Adversarial mode: nothing runs before a call waits for it; then the seed picks one of the legal
// orders. Work that no wait needs is delayed. A program that relies on such work having run, or on
// it no longer reading memory, fails, and fails again with the same seed.
//
// Streams have ranks. Of the operations that can run, that of the highest stream runs, or one that
// it waits for. So all work of a stream precedes or follows that of another, however long it is.
// Seeds 2N and 2N+1 rank the streams in opposite orders: if two streams race, each comes first with
// one of the two. The exception is a third, higher stream that waits for one of them: no two orders
// reverse every pair.
#include "base/immortal.hpp"
#include "engine/engine.hpp"

#include <algorithm>
#include <compare>
#include <unordered_set>

namespace sim {
namespace {

// The most turns in which a stream that could run is passed over. Without a limit, a program that
// waits for its work without a CUDA call would wait forever.
constexpr std::uint64_t patience_turns = 16384;
// Turns that a query of finished work counts for: a program that polls it waits for something else.
constexpr std::uint64_t turns_of_a_question = 16;
// The most queries of unfinished work that take no step.
constexpr std::uint64_t most_idle_questions = 8;

// The kind of order that a pair of seeds selects.
struct Pair {
    std::uint64_t number = settings().seed >> 1;
    // Also runs work that no wait needs, if it ranks higher: another stream then overwrites data
    // that a stream still has to read.
    bool eager() const noexcept { return number % 4 == 3; }
    // Parts of a graph have their own ranks instead of those of their chains.
    bool single() const noexcept { return number / 4 % 2 == 1; }
    // The number of queries of unfinished work that take no step.
    std::uint64_t idle_questions() const noexcept {
        return eager() ? 0 : 1 + drawn(~std::uint64_t(0)) % most_idle_questions;
    }
    // The rank of a stream or of a part of a graph.
    std::uint64_t rank(std::uint64_t key) const noexcept {
        return settings().seed % 2 == 0 ? ~drawn(key) : drawn(key);
    }

  private:
    std::uint64_t drawn(std::uint64_t key) const noexcept {
        return Random(number * 0x9e3779b97f4a7c15u ^ key * 0xbf58476d1ce4e5b9u).next();
    }
};

// Predecessors of a high-ranked stream's work rank as high. Otherwise a stream that waits for a low
// one would follow all streams between them, whatever its own rank.
struct Rank {
    std::uint64_t needed_by, stream, part;
    auto operator<=>(const Rank &) const = default;
};

// Raises the rank of all direct and indirect predecessors to that of the operation.
void pass_on_rank(Operation &operation) {
    const auto rank = Pair().rank(operation.stream->id);
    std::vector<Operation *> pending;
    const auto raise = [&](Operation &needed) {
        if (needed.needed_by < rank) {
            needed.needed_by = rank;
            pending.push_back(&needed);
        }
    };
    raise(operation);
    while (!pending.empty()) {
        const Operation *later = pending.back();
        pending.pop_back();
        for (const Ticket &earlier : later->after) {
            if (!earlier->done) {
                raise(*earlier);
            }
        }
    }
}

// Does so for the operations enqueued since the last step.
void pass_on_ranks() {
    Engine &e = engine();
    for (Stream *stream : e.busy) {
        for (auto next = stream->queue.rbegin();
             next != stream->queue.rend() && (*next)->number > e.ranked; ++next) {
            pass_on_rank(**next);
        }
    }
    e.ranked = e.next_number - 1;
}

void forget_ranks() {
    for (Stream *stream : engine().busy) {
        for (const Ticket &operation : stream->queue) {
            operation->needed_by = 0;
        }
    }
    engine().ranked = 0;
}

// Initializes the generator, for the bodies of conditional nodes, and the ranks from the seed.
void take_seed() {
    Engine &e = engine();
    if (!e.seeded || e.seeded_with != settings().seed) {
        e.random = Random(settings().seed);
        e.seeded_with = settings().seed;
        e.seeded = true;
        forget_ranks();
    }
}

Rank rank_of(const Operation &operation) {
    const Pair pair;
    const std::uint64_t part = operation.ordered ? 0
                               : pair.single()   ? operation.number
                                                 : operation.chain;
    return {operation.needed_by, pair.rank(operation.stream->id), pair.rank(~part)};
}

// The highest-ranked operation; the oldest if there are several.
Ticket highest(const std::vector<Ticket> &from) {
    return *std::max_element(from.begin(), from.end(), [](const Ticket &a, const Ticket &b) {
        return rank_of(*a) < rank_of(*b);
    });
}

// An operation whose stream was passed over for too long, or null.
Ticket overdue(const std::vector<Ticket> &runnable) {
    const auto longest =
        std::min_element(runnable.begin(), runnable.end(), [](const Ticket &a, const Ticket &b) {
            return a->stream->turn < b->stream->turn;
        });
    const bool any =
        longest != runnable.end() && engine().turns - (*longest)->stream->turn > patience_turns;
    return any ? *longest : nullptr;
}

std::vector<Ticket> all_runnable() {
    std::vector<Ticket> runnable;
    for (Stream *stream : engine().busy) {
        append_runnable_of(*stream, runnable);
    }
    return runnable;
}

void run(Ticket operation) {
    operation->stream->turn = engine().turns;
    execute(std::move(operation));
}

// The numbers of the target operations and of all their direct and indirect predecessors.
struct Goal {
    std::unordered_set<std::uint64_t> targets, needed;
    unsigned int epoch = 0;

    // Predecessors are never added, so the set is rebuilt only when a new target appears.
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
    static Immortal<Goal> goal;
    return *goal;
}

// The operations that the targets need, if there are targets.
std::vector<Ticket> needed_of(const std::vector<Ticket> &runnable,
                              const std::vector<Ticket> &targets) {
    std::vector<Ticket> needed;
    goal().aim_at(targets);
    std::copy_if(runnable.begin(), runnable.end(), std::back_inserter(needed),
                 [](const Ticket &operation) { return goal().needed.contains(operation->number); });
    return needed.empty() ? runnable : needed;
}

} // namespace

bool adversarial_step(const std::vector<Ticket> &targets) {
    const std::vector<Ticket> runnable = all_runnable();
    if (runnable.empty()) {
        return false;
    }
    take_seed();
    pass_on_ranks();
    ++engine().turns;
    Ticket next = overdue(runnable);
    if (!next) {
        const bool any = targets.empty() || Pair().eager();
        next = highest(any ? runnable : needed_of(runnable, targets));
    }
    run(std::move(next));
    return true;
}

void adversarial_question(const std::vector<Ticket> &targets) {
    const auto newest =
        std::max_element(targets.begin(), targets.end(),
                         [](const Ticket &a, const Ticket &b) { return a->number < b->number; });
    if ((*newest)->asked < Pair().idle_questions()) {
        ++(*newest)->asked;
        adversarial_turn();
    } else {
        adversarial_step(targets);
    }
}

void adversarial_turn() {
    engine().turns += turns_of_a_question;
    if (Ticket next = overdue(all_runnable())) {
        run(std::move(next));
    }
}

} // namespace sim
