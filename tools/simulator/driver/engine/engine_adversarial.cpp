// Adversarial mode: nothing runs before somebody waits for it; then one legal order of many is
// taken, by a seed. What nobody needs is put off: who relies on it having run, or on it not reading
// memory any more, fails, and does so again with the same seed.
//
// The streams have ranks: of what can run, that of the highest stream runs, or what that waits for,
// so that all of a stream's work comes before or after another's, however much there is of it.
// Seeds 2N and 2N+1 are a pair: one ranks the streams the other way round than the other, so that
// of two streams that race each comes first in one. Not where work of a third, higher stream waits
// for one of the two: no two orders reverse all that may be reversed.
#include "base/immortal.hpp"
#include "engine/engine.hpp"

#include <algorithm>
#include <compare>
#include <unordered_set>

namespace sim {
namespace {

// A stream that could run is passed over in so many turns at most: else who waits for its work
// without saying so would wait for ever.
constexpr std::uint64_t patience_turns = 16384;
// What a question is that needed no step: whoever asks again and again waits for something else.
constexpr std::uint64_t turns_of_a_question = 16;
// Of what is not done, so many questions at most take no step.
constexpr std::uint64_t most_idle_questions = 8;

// What kind of order the pair of the seed stands for.
struct Pair {
    std::uint64_t number = settings().seed >> 1;
    // What nobody needs runs, too, where it ranks higher: another stream writes what a stream that
    // is waited for has yet to read.
    bool eager() const noexcept { return number % 4 == 3; }
    // Parts of a graph have ranks of their own, rather than those of their chains.
    bool single() const noexcept { return number / 4 % 2 == 1; }
    // How many questions of work that is not done take no step.
    std::uint64_t idle_questions() const noexcept {
        return eager() ? 0 : 1 + drawn(~std::uint64_t(0)) % most_idle_questions;
    }
    // Of streams and of parts of graphs.
    std::uint64_t rank(std::uint64_t key) const noexcept {
        return settings().seed % 2 == 0 ? ~drawn(key) : drawn(key);
    }

  private:
    std::uint64_t drawn(std::uint64_t key) const noexcept {
        return Random(number * 0x9e3779b97f4a7c15u ^ key * 0xbf58476d1ce4e5b9u).next();
    }
};

// What comes before the work of a high stream is as high: else a stream that waits for a low one
// would come after all that lie between, whatever its own rank.
struct Rank {
    std::uint64_t needed_by, stream, part;
    auto operator<=>(const Rank &) const = default;
};

// What comes before the operation, directly or not, is at least as high.
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

// Of what was queued since the last step.
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

// A seed has a generator, for the bodies of conditional nodes, and ranks.
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

// The oldest of them, where there are several.
Ticket highest(const std::vector<Ticket> &from) {
    return *std::max_element(from.begin(), from.end(), [](const Ticket &a, const Ticket &b) {
        return rank_of(*a) < rank_of(*b);
    });
}

// One whose stream was passed over for too long, or null.
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
    static Immortal<Goal> goal;
    return *goal;
}

// Those that are needed for the targets, where there are any.
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
