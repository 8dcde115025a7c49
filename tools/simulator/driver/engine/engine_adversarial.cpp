// Adversarial mode: nothing runs before a call waits for it; then the seed picks one of the legal
// orders. Work that no wait needs is delayed. A program that relies on such work having run, or on
// it no longer reading memory, fails, and fails again with the same seed.
//
// Streams have ranks. Of the operations that can run, that of the highest stream runs, or one that
// it waits for. So all work of a stream precedes or follows that of another, however long it is.
// Seeds 2N and 2N+1 rank the streams in opposite orders: if two streams race, each comes first with
// one of the two. The exception is a third, higher stream that waits for one of them: no two orders
// reverse every pair.
#include "engine/engine.hpp"

#include <algorithm>
#include <utility>

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

// The queue that holds the operation if it is ready.
auto &queue_of(const Operation &operation) noexcept {
    Adversary &adversary = engine().adversary;
    return operation.needed_in == adversary.goal ? adversary.needed : adversary.others;
}

// Raises the rank of all direct and indirect predecessors to that of the operation.
void pass_on_rank(Operation &operation) {
    const auto rank = Pair().rank(operation.stream->id);
    std::vector<Operation *> pending;
    const auto raise = [&](Operation &needed) {
        if (needed.needed_by < rank) {
            needed.needed_by = rank;
            if (needed.in_ranked != 0) {
                queue_of(needed).moved(needed);
            }
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
    if (e.ranked == e.next_number - 1) {
        return;
    }
    for (Stream *stream : e.busy) {
        for (auto next = stream->queue.rbegin();
             next != stream->queue.rend() && (*next)->number > e.ranked; ++next) {
            if (!(*next)->done) {
                pass_on_rank(**next);
            }
        }
    }
    e.ranked = e.next_number - 1;
}

// Of a ready operation, except for the part that later operations determine.
void rank(Operation &operation) noexcept {
    const Pair pair;
    const std::uint64_t part = operation.ordered ? 0
                               : pair.single()   ? operation.number
                                                 : operation.chain;
    operation.stream_rank = pair.rank(operation.stream->id);
    operation.part_rank = pair.rank(~part);
}

// Ranks everything again.
void forget_ranks() {
    Engine &e = engine();
    e.adversary.needed.clear();
    e.adversary.others.clear();
    for (Stream *stream : e.busy) {
        for (const Ticket &operation : stream->queue) {
            operation->needed_by = 0;
        }
    }
    e.ranked = 0;
    for (Operation *operation : e.ready) {
        rank(*operation);
        queue_of(*operation).add(*operation);
    }
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

// The highest-ranked operation, or null. `polled` holds those that can run.
Operation *highest(const std::vector<Operation *> &polled, bool needed_only) {
    const Adversary &adversary = engine().adversary;
    Operation *best = adversary.needed.empty() ? nullptr : &adversary.needed.first();
    const auto compare = [&best](Operation &other) {
        best = best == nullptr || ranks_higher(other, *best) ? &other : best;
    };
    for (Operation *operation : polled) {
        if (!needed_only || operation->needed_in == adversary.goal) {
            rank(*operation);
            compare(*operation);
        }
    }
    if (!needed_only && !adversary.others.empty()) {
        compare(adversary.others.first());
    }
    return best;
}

// An operation whose stream was passed over for too long, or null.
Operation *overdue(const std::vector<Operation *> &polled) {
    const auto &passed = engine().adversary.passed;
    Operation *longest = passed.empty() ? nullptr : &passed.first().ready.first();
    for (Operation *operation : polled) {
        const bool same = longest != nullptr && operation->stream == longest->stream;
        if (longest == nullptr || (same ? is_older(*operation, *longest)
                                        : waits_longer(*operation->stream, *longest->stream))) {
            longest = operation;
        }
    }
    const bool any = longest != nullptr && engine().turns - longest->stream->turn > patience_turns;
    return any ? longest : nullptr;
}

void run(Operation &operation) {
    Stream &stream = *operation.stream;
    stream.turn = engine().turns;
    if (Adversary &adversary = engine().adversary; adversary.passed.contains(stream)) {
        adversary.passed.moved(stream);
    }
    execute(operation.shared_from_this());
}

// Whether Operation::needed_in is set for these targets. Predecessors are never added, so this
// holds until a new target appears.
bool is_goal(const Targets &targets) {
    const Adversary &adversary = engine().adversary;
    return targets.number == adversary.wait ||
           std::all_of(targets.operations.begin(), targets.operations.end(),
                       [&](const Ticket &t) { return t->target_in == adversary.goal; });
}

// Marks the targets and all their direct and indirect predecessors.
void aim_at(const Targets &targets) {
    Adversary &adversary = engine().adversary;
    if (is_goal(targets)) {
        return;
    }
    ++adversary.goal;
    adversary.needed.move_to(adversary.others);
    std::vector<Operation *> open;
    const auto visit = [&](const Ticket &ticket) {
        if (!ticket->done && ticket->needed_in != adversary.goal) {
            open.push_back(ticket.get());
            if (ticket->in_ranked != 0) {
                adversary.others.remove(*ticket);
                adversary.needed.add(*ticket);
            }
            ticket->needed_in = adversary.goal;
        }
    };
    std::for_each(targets.operations.begin(), targets.operations.end(), visit);
    while (!open.empty()) {
        const Operation *operation = open.back();
        open.pop_back();
        std::for_each(operation->after.begin(), operation->after.end(), visit);
    }
    adversary.wait = targets.number;
    for (const Ticket &target : targets.operations) {
        target->target_in = adversary.goal;
    }
}

// The highest-ranked operation that the targets need, if there are targets.
Operation *highest_needed(const Targets &targets, const std::vector<Operation *> &polled) {
    aim_at(targets);
    return highest(polled, true);
}

// Ranks the operations that are ready already.
void begin_ranking() {
    Engine &e = engine();
    Adversary &adversary = e.adversary;
    if (!adversary.in_use) {
        adversary.needed.reserve(e.queued);
        adversary.others.reserve(e.queued);
        adversary.passed.reserve(e.busy.size());
        adversary.in_use = true;
        std::for_each(e.ready.begin(), e.ready.end(), [](Operation *o) { adversary_adds(*o); });
    }
}

} // namespace

void adversary_adds(Operation &operation) noexcept {
    Adversary &adversary = engine().adversary;
    rank(operation);
    queue_of(operation).add(operation);
    if (!adversary.passed.contains(*operation.stream)) {
        adversary.passed.add(*operation.stream);
    }
}

void adversary_removes(Operation &operation) noexcept {
    Adversary &adversary = engine().adversary;
    queue_of(operation).remove(operation);
    if (operation.stream->ready.empty()) {
        adversary.passed.remove(*operation.stream);
    }
}

void restart_adversary() noexcept {
    Adversary &adversary = engine().adversary;
    adversary.needed.clear();
    adversary.others.clear();
    adversary.passed.clear();
    adversary.in_use = false;
    ++adversary.goal;
}

bool adversarial_step(const Targets &targets) {
    const std::vector<Operation *> polled = runnable_polled();
    if (engine().ready.empty() && polled.empty()) {
        return false;
    }
    begin_ranking();
    take_seed();
    pass_on_ranks();
    ++engine().turns;
    Operation *next = overdue(polled);
    if (next == nullptr && !targets.operations.empty() && !Pair().eager()) {
        next = highest_needed(targets, polled);
    }
    if (next == nullptr) {
        next = highest(polled, false);
    }
    run(*next);
    return true;
}

void adversarial_question(const Targets &targets) {
    const auto &operations = targets.operations;
    const auto newest =
        std::max_element(operations.begin(), operations.end(),
                         [](const Ticket &a, const Ticket &b) { return is_older(*a, *b); });
    if ((*newest)->asked < Pair().idle_questions()) {
        ++(*newest)->asked;
        adversarial_turn();
    } else {
        adversarial_step(targets);
    }
}

void adversarial_turn() {
    engine().turns += turns_of_a_question;
    const std::vector<Operation *> polled = runnable_polled();
    begin_ranking();
    if (Operation *next = overdue(polled)) {
        run(*next);
    }
}

} // namespace sim
