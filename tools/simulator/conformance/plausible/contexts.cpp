// Plausible calls while device 0's primary context is current (`current`), while no context is
// (`none`), and while another context of the same device is (`other`). In sections of their own,
// after the context of the handles was destroyed.
#include "asking.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace record::plausible {

namespace {

enum Situation { current, none, other };
constexpr const char *names[] = {"current ", ", none ", ", other "};
constexpr unsigned int situation_count = std::size(names);
constexpr unsigned int calls_of_a_context = 48; // that is destroyed

bool ask_in(Situation situation, const Call &call, Answer &answer) {
    static Supply supply;
    if (!prepare(call)) {
        return false;
    }
    const auto values = supply.values(call);
    const Arguments arguments = call.make(*values);
    answer.made = values->complete();
    if (answer.made) {
        if (situation != current) {
            d.cuCtxSetCurrent(situation == other ? second_context() : nullptr);
        }
        make_call(call, arguments, answer);
        supply.use(call, answer);
    }
    return finish(call, answer);
}

void call_all(bool runtime) {
    const std::vector<Call> calls = lasting_calls_of(runtime);
    const auto count = static_cast<unsigned int>(calls.size()) * situation_count;
    Answer *answers = shared<Answer>(count);
    std::string line;
    ask_in_children(
        count, calls_in_a_block * situation_count,
        [&](unsigned int i) {
            return ask_in(Situation(i % situation_count), calls[i / situation_count], answers[i]);
        },
        [&](unsigned int i, int ended) {
            line += names[i % situation_count] + text_of(answers[i], ended);
            if ((i + 1) % situation_count == 0) {
                note(calls[i / situation_count].name(), line.c_str());
                line.clear();
            }
        });
}

// Calls whose handles are of a destroyed context. Those of a block share the context, since making
// one takes long.
class Orphans {
  public:
    // Asks about the call at this index.
    bool ask(const std::vector<Call> &calls, std::size_t at, Answer &answer) {
        if (!prepare(calls[at])) {
            return false;
        }
        if (made_.find(at) == made_.end()) {
            make(calls, at);
            d.cuCtxSetCurrent(context());
        }
        answer.made = made_[at].values->complete();
        if (answer.made) {
            make_call(calls[at], made_[at].arguments, answer);
        }
        return finish(calls[at], answer);
    }

  private:
    struct Made {
        std::shared_ptr<Values> values;
        Arguments arguments;
    };

    // The arguments of this call and of the rest of its block.
    void make(const std::vector<Call> &calls, std::size_t at) {
        CUcontext own = nullptr;
        d.cuCtxCreate(&own, nullptr, 0, 0);
        const std::size_t end = (at / calls_of_a_context + 1) * calls_of_a_context;
        for (std::size_t i = at; i < std::min(end, calls.size()); ++i) {
            made_[i] = {new_values(0, 0), {}};
            made_[i].arguments = calls[i].make(*made_[i].values);
        }
        d.cuCtxDestroy(own);
    }

    std::map<std::size_t, Made> made_;
};

// Not in streams: those of a destroyed context may crash the process.
void call_after_destruction(bool runtime) {
    std::vector<Call> calls = lasting_calls_of(runtime);
    std::erase_if(calls, [](const Call &call) { return call.takes(Kind::stream); });
    const auto count = static_cast<unsigned int>(calls.size());
    Answer *answers = shared<Answer>(count);
    ask_in_children(
        count, calls_of_a_context,
        [&](unsigned int i) {
            static Orphans orphans;
            return orphans.ask(calls, i, answers[i]);
        },
        [&](unsigned int i, int ended) {
            note(calls[i].name(), text_of(answers[i], ended).c_str());
        });
}

} // namespace

SECTION("contexts_driver") {
    call_all(false);
}

SECTION("contexts_runtime") {
    call_all(true);
}

SECTION("destroyed_contexts_driver") {
    call_after_destruction(false);
}

SECTION("destroyed_contexts_runtime") {
    call_after_destruction(true);
}

} // namespace record::plausible
