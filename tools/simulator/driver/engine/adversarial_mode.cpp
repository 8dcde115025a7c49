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
#include "base/notes.hpp"
#include "base/random.hpp"
#include "engine/mode.hpp"
#include "engine/threads.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace sim {
namespace {

using std::chrono::milliseconds;

// The most turns in which a stream that could run is passed over. Without a limit, a program that
// waits for its work without a CUDA call would wait forever.
constexpr std::uint64_t most_turns_passed = 16384;
// Turns that a query of finished work counts for: a program that polls it waits for something else.
constexpr std::uint64_t turns_of_a_query = 16;
// The most queries of unfinished work that take no step.
constexpr std::uint64_t most_idle_queries = 8;

// The kind of order that a pair of seeds selects.
class Order {
  public:
    // Also runs work that no wait needs, if it ranks higher: another stream then overwrites data
    // that a stream still has to read.
    bool runs_unneeded() const noexcept { return pair_ % 4 == 3; }
    // Parts of a graph have their own ranks instead of those of their chains.
    bool ranks_each_part() const noexcept { return pair_ / 4 % 2 == 1; }
    // The number of queries of unfinished work that take no step.
    std::uint64_t idle_queries() const noexcept {
        return runs_unneeded() ? 0 : 1 + drawn(~std::uint64_t(0)) % most_idle_queries;
    }
    // The rank of a stream or of a part of a graph.
    std::uint64_t rank(std::uint64_t key) const noexcept {
        return settings().seed % 2 == 0 ? ~drawn(key) : drawn(key);
    }

  private:
    std::uint64_t drawn(std::uint64_t key) const noexcept {
        return Random(pair_ * 0x9e3779b97f4a7c15u ^ key * 0xbf58476d1ce4e5b9u).next();
    }

    std::uint64_t pair_ = settings().seed >> 1;
};

// Sets the ranks of a ready operation, except for the part that later operations determine.
void set_rank(Operation &operation) noexcept {
    const Order order;
    const std::uint64_t part = operation.ordered         ? 0
                               : order.ranks_each_part() ? operation.number
                                                         : operation.rank.chain;
    operation.rank.of_stream = order.rank(operation.stream->id);
    operation.rank.of_part = order.rank(~part);
}

// Whether the stream was passed over for longer.
bool waits_longer(const Turn &a, const Turn &b) noexcept {
    return a.last != b.last ? a.last < b.last : became_busy_first(*a.stream, *b.stream);
}
// The highest rank first; the oldest of equal ones. Predecessors of a high-ranked stream's work
// rank as high. Otherwise a stream that waits for a low one would follow all streams between them,
// whatever its own rank.
bool ranks_higher(const Rank &a, const Rank &b) noexcept {
    return a.needed_by != b.needed_by   ? a.needed_by > b.needed_by
           : a.of_stream != b.of_stream ? a.of_stream > b.of_stream
           : a.of_part != b.of_part     ? a.of_part > b.of_part
                                        : is_older(*a.operation, *b.operation);
}

class AdversarialMode final : public RunMode {
  public:
    void prepare(Stream &, const Work &) override { ensure_runner(); }
    bool step(const Targets &targets) override {
        const std::vector<Operation *> polled = runnable_polled();
        if (engine().ready.empty() && polled.empty()) {
            return false;
        }
        begin_ranking();
        use_seed();
        raise_predecessors();
        ++turns_;
        Operation *next = overdue(polled);
        if (next == nullptr && !targets.operations.empty() && !Order().runs_unneeded()) {
            mark_needed(targets);
            next = highest(polled, true);
        }
        if (next == nullptr) {
            next = highest(polled, false);
        }
        run(*next);
        return true;
    }
    // The first queries of work that is not done take no step; later ones each take one towards the
    // work, so that polling loops end.
    void query(const Targets &targets) override {
        const auto &operations = targets.operations;
        const auto newest =
            std::max_element(operations.begin(), operations.end(),
                             [](const Ticket &a, const Ticket &b) { return is_older(*a, *b); });
        if ((*newest)->rank.queries < Order().idle_queries()) {
            ++(*newest)->rank.queries;
            query_of_finished();
        } else {
            step(targets);
        }
    }
    // As a polling loop does. Work that was delayed for long enough runs.
    void query_of_finished() override {
        turns_ += turns_of_a_query;
        const std::vector<Operation *> polled = runnable_polled();
        begin_ranking();
        if (Operation *next = overdue(polled)) {
            run(*next);
        }
    }
    // Once the program has made no call for a while, since it may be waiting for a host function.
    void run_unwaited(const bool &stop) override {
        long_function_.look();
        while (exit_waits() && !stop && step(Targets())) {
        }
        if (settings().stall_ms != 0 && stall_.lasts()) {
            run_stalled(stop);
        }
    }
    std::chrono::microseconds runner_pause() const override {
        return exit_waits() ? milliseconds(2)
                            : std::max(milliseconds(1),
                                       milliseconds(settings().stall_ms / Stall::most_wakeups));
    }

    // An operation that is not ordered continues the chain of an earlier one, unless another
    // operation already continues it.
    void enqueue(Operation &operation) override {
        if (ranking_) {
            needed_.reserve(engine().queued + 1);
            others_.reserve(engine().queued + 1);
            passed_.reserve(engine().busy.size() + 1);
        }
        if (operation.ordered) {
            return;
        }
        const auto open =
            std::find_if(operation.after.begin(), operation.after.end(), [](const Ticket &earlier) {
                return !earlier->ordered && !earlier->rank.continued;
            });
        const bool found = open != operation.after.end();
        operation.rank.chain = found ? (*open)->rank.chain : operation.number;
        if (found) {
            (*open)->rank.continued = true;
        }
    }
    void busy(Stream &stream) noexcept override { stream.turn.last = turns_; }
    void ready(Operation &operation) noexcept override {
        if (!ranking_) {
            return;
        }
        set_rank(operation);
        queue_of(operation.rank).add(operation.rank);
        if (!passed_.contains(operation.stream->turn)) {
            passed_.add(operation.stream->turn);
        }
    }
    void not_ready(Operation &operation) noexcept override {
        if (!ranking_) {
            return;
        }
        queue_of(operation.rank).remove(operation.rank);
        if (operation.stream->ready.empty()) {
            passed_.remove(operation.stream->turn);
        }
    }
    void restart() noexcept override {
        needed_.clear();
        others_.clear();
        passed_.clear();
        ranking_ = false;
        ++marked_;
        turns_ = 0;
        raised_until_ = 0;
        seeded_ = false;
        stall_ = {};
        long_function_ = {};
    }

    std::size_t draw(std::size_t count) noexcept { return random_.below(count); }

  private:
    using Ranks = PriorityQueue<Rank, &Rank::place, ranks_higher>;

    // Detects a stalled program. Counts the runner's wakeups instead of time, so that a process
    // without CPU time does not look stalled.
    struct Stall {
        static constexpr unsigned int most_wakeups = 20;
        // Called at each wakeup. Returns whether the program made no call for the whole time.
        bool lasts() noexcept {
            const bool moved = std::exchange(progress, engine().progress) != engine().progress;
            const bool in_a_call = engine().waiting != 0 || engine().running != 0;
            wakeups = moved || in_a_call ? 0 : wakeups + 1;
            return wakeups >= most_wakeups;
        }
        // The last progress was made by the runner itself.
        void ignore_progress() noexcept { progress = engine().progress; }

        std::uint64_t progress = 0;
        unsigned int wakeups = 0;
    };

    // Reports a client function that does not return. A function that waits for work of another
    // stream never returns: it runs in a waiting thread, and nothing runs beside it.
    struct LongFunction {
        using Clock = std::chrono::steady_clock;
        void look() {
            const bool moved = std::exchange(progress, engine().progress) != engine().progress;
            if (moved || engine().running == 0) {
                since = Clock::now();
                reported = false;
            } else if (!reported && Clock::now() - since > milliseconds(settings().patience_ms)) {
                reported = true;
                report();
            }
        }
        // Also printed at once, since a hanging program may never print its report.
        static void report() {
            for (const Stream *stream : engine().busy) {
                for (const Ticket &operation : stream->queue) {
                    if (operation->running) {
                        const std::string text =
                            describe(*operation) + " has run for " +
                            std::to_string(settings().patience_ms) +
                            " ms (setting 'patience'), and no other work runs meanwhile in this" +
                            " mode: if it waits for work of another stream, it never returns";
                        std::fprintf(stderr, "cushim-sim: %s\n", text.c_str());
                        note(text);
                    }
                }
            }
        }

        std::uint64_t progress = 0;
        Clock::time_point since = Clock::now();
        bool reported = false;
    };

    // The queue that holds the operation if it is ready.
    Ranks &queue_of(const Rank &rank) noexcept {
        return rank.needed_in == marked_ ? needed_ : others_;
    }
    // Ranks the operations that are ready already.
    void begin_ranking() {
        if (!ranking_) {
            needed_.reserve(engine().queued);
            others_.reserve(engine().queued);
            passed_.reserve(engine().busy.size());
            ranking_ = true;
            for (Operation *operation : engine().ready) {
                ready(*operation);
            }
        }
    }
    // Initializes the generator and the ranks from the seed.
    void use_seed() {
        if (!seeded_ || seed_ != settings().seed) {
            random_ = Random(settings().seed);
            seed_ = settings().seed;
            seeded_ = true;
            rank_again();
        }
    }
    void rank_again() {
        needed_.clear();
        others_.clear();
        for (Stream *stream : engine().busy) {
            for (const Ticket &operation : stream->queue) {
                operation->rank.needed_by = 0;
            }
        }
        raised_until_ = 0;
        for (Operation *operation : engine().ready) {
            set_rank(*operation);
            queue_of(operation->rank).add(operation->rank);
        }
    }
    // Raises the ranks of all predecessors of the operations enqueued since the last step.
    void raise_predecessors() {
        const std::uint64_t newest = engine().next_number - 1;
        if (raised_until_ == newest) {
            return;
        }
        for (Stream *stream : engine().busy) {
            for (auto next = stream->queue.rbegin();
                 next != stream->queue.rend() && (*next)->number > raised_until_; ++next) {
                if (!(*next)->done) {
                    raise_predecessors_of(**next);
                }
            }
        }
        raised_until_ = newest;
    }
    // Raises the rank of all direct and indirect predecessors to that of the operation.
    void raise_predecessors_of(Operation &operation) {
        const auto rank = Order().rank(operation.stream->id);
        std::vector<Operation *> pending;
        const auto raise = [&](Operation &needed) {
            if (needed.rank.needed_by < rank) {
                needed.rank.needed_by = rank;
                if (needed.rank.place != 0) {
                    queue_of(needed.rank).moved(needed.rank);
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
    // Whether Rank::needed_in is set for these targets. Predecessors are never added, so this holds
    // until a new target appears.
    bool is_marked(const Targets &targets) const {
        return targets.number == marked_for_ ||
               std::all_of(targets.operations.begin(), targets.operations.end(),
                           [&](const Ticket &t) { return t->rank.target_in == marked_; });
    }
    // Marks the targets and all their direct and indirect predecessors.
    void mark_needed(const Targets &targets) {
        if (is_marked(targets)) {
            return;
        }
        ++marked_;
        needed_.move_to(others_);
        std::vector<Operation *> open;
        const auto visit = [&](const Ticket &ticket) {
            if (!ticket->done && ticket->rank.needed_in != marked_) {
                open.push_back(ticket.get());
                if (ticket->rank.place != 0) {
                    others_.remove(ticket->rank);
                    needed_.add(ticket->rank);
                }
                ticket->rank.needed_in = marked_;
            }
        };
        std::for_each(targets.operations.begin(), targets.operations.end(), visit);
        while (!open.empty()) {
            const Operation *operation = open.back();
            open.pop_back();
            std::for_each(operation->after.begin(), operation->after.end(), visit);
        }
        marked_for_ = targets.number;
        for (const Ticket &target : targets.operations) {
            target->rank.target_in = marked_;
        }
    }
    // The highest-ranked operation, or null. `polled` holds those that can run.
    Operation *highest(const std::vector<Operation *> &polled, bool needed_only) const {
        const Rank *best = needed_.empty() ? nullptr : &needed_.first();
        const auto compare = [&best](const Rank &other) {
            best = best == nullptr || ranks_higher(other, *best) ? &other : best;
        };
        for (Operation *operation : polled) {
            if (!needed_only || operation->rank.needed_in == marked_) {
                set_rank(*operation);
                compare(operation->rank);
            }
        }
        if (!needed_only && !others_.empty()) {
            compare(others_.first());
        }
        return best != nullptr ? best->operation : nullptr;
    }
    // An operation whose stream was passed over for too long, or null.
    Operation *overdue(const std::vector<Operation *> &polled) const {
        Operation *longest = passed_.empty() ? nullptr : &passed_.first().stream->ready.first();
        for (Operation *operation : polled) {
            const bool same = longest != nullptr && operation->stream == longest->stream;
            if (longest == nullptr ||
                (same ? is_older(*operation, *longest)
                      : waits_longer(operation->stream->turn, longest->stream->turn))) {
                longest = operation;
            }
        }
        const bool any =
            longest != nullptr && turns_ - longest->stream->turn.last > most_turns_passed;
        return any ? longest : nullptr;
    }
    void run(Operation &operation) {
        Turn &turn = operation.stream->turn;
        turn.last = turns_;
        if (passed_.contains(turn)) {
            passed_.moved(turn);
        }
        execute(operation.shared_from_this());
    }
    void run_stalled(const bool &stop) {
        std::size_t count = 0;
        for (; !stop && step(Targets()); ++count) {
            stall_.ignore_progress();
        }
        if (count != 0) {
            note("no call enqueued or waited for work for " + std::to_string(settings().stall_ms) +
                 " ms, so " + std::to_string(count) +
                 (count == 1 ? " operation ran by itself" : " operations ran by themselves") +
                 "; the order relative to the program depends on timing (setting 'stall')");
        }
    }

    bool ranking_ = false;  // from the first step on, ready operations are in these queues
    Ranks needed_, others_; // those that the wait `marked_` needs, and the others
    PriorityQueue<Turn, &Turn::place, waits_longer> passed_; // streams with ready operations
    std::uint64_t marked_ = 1;       // number of the wait in Rank::needed_in
    std::uint64_t marked_for_ = 0;   // Targets::number of that wait
    std::uint64_t turns_ = 0;        // steps, and queries without a step
    std::uint64_t raised_until_ = 0; // predecessors of operations up to this number are raised
    Random random_;                  // for the bodies of conditional nodes
    std::uint64_t seed_ = 0;         // of `random_` and of the ranks
    bool seeded_ = false;
    Stall stall_;
    LongFunction long_function_;
};

AdversarialMode &the_mode() noexcept {
    static Immortal<AdversarialMode> mode;
    return *mode;
}

} // namespace

RunMode &adversarial_mode() noexcept {
    return the_mode();
}

std::size_t draw(std::size_t count) noexcept {
    return the_mode().draw(count);
}

} // namespace sim
