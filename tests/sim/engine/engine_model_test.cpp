// Random programs of streams and events against a model: each order in which their work runs is one
// that CUDA's manual allows.
#include "run_order.hpp"

#include <random>

using namespace sim_test;

namespace {

enum class Step { launch, record, wait, synchronize_stream, synchronize_event };

// A program of streams and events, and the order of its launches that CUDA's manual requires.
class Program {
  public:
    Program(unsigned int seed, int steps) : random_(seed) {
        for (const bool blocks : {true, true, false, false}) {
            streams_.push_back({blocks});
        }
        streams_.push_back({true}); // the legacy stream
        for (int i = 0; i < steps; ++i) {
            step();
        }
    }

    // Runs it on the simulator and returns the order. Checks at each wait that required work ran.
    std::vector<int> run() const {
        RunOrder order;
        std::vector<CUstream> streams;
        for (const auto &stream : streams_) {
            streams.push_back(
                make_stream(stream.blocks ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
        }
        destroy(streams[legacy]);
        streams[legacy] = nullptr;
        std::vector<CUevent> events;
        for (int i = 0; i < event_count; ++i) {
            events.push_back(make_event());
        }
        for (const Instruction &instruction : program_) {
            switch (instruction.step) {
            case Step::launch:
                require_ok(order.launch(streams[instruction.stream], instruction.number));
                break;
            case Step::record:
                require_ok(
                    driver().cuEventRecord(events[instruction.event], streams[instruction.stream]));
                break;
            case Step::wait:
                require_ok(driver().cuStreamWaitEvent(streams[instruction.stream],
                                                      events[instruction.event], 0));
                break;
            case Step::synchronize_stream:
                require_ok(driver().cuStreamSynchronize(streams[instruction.stream]));
                check_ran(order, instruction.before);
                break;
            case Step::synchronize_event:
                require_ok(driver().cuEventSynchronize(events[instruction.event]));
                check_ran(order, instruction.before);
                break;
            }
        }
        require_ok(driver().cuCtxSynchronize());
        for (const CUevent event : events) {
            destroy(event);
        }
        streams.pop_back();
        for (const CUstream stream : streams) {
            destroy(stream);
        }
        return order.ran();
    }

    void check_legal(const std::vector<int> &order) const {
        REQUIRE(order.size() == before_.size());
        std::vector<std::size_t> position(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            position[static_cast<std::size_t>(order[i])] = i;
        }
        bool legal = true;
        for (std::size_t number = 0; number < before_.size(); ++number) {
            for (const int earlier : before_[number]) {
                legal = legal && position[static_cast<std::size_t>(earlier)] < position[number];
            }
        }
        CHECK(legal);
    }

  private:
    using Set = std::set<int>;
    struct ModelStream {
        bool blocks;
        Set done = {}; // precedes its next operation
    };
    struct Instruction {
        Step step;
        std::size_t stream, event;
        int number = 0;
        Set before = {};
    };
    static constexpr std::size_t legacy = 4;
    static constexpr int event_count = 3;

    static void check_ran(const RunOrder &order, const Set &before) {
        const auto ran = order.ran();
        const Set have(ran.begin(), ran.end());
        CHECK(std::includes(have.begin(), have.end(), before.begin(), before.end()));
    }

    std::size_t pick(std::size_t count) { return random_() % count; }

    // The launches that precede an operation enqueued now.
    Set after(std::size_t stream) const {
        Set set = streams_[stream].done;
        for (std::size_t other = 0; other < streams_.size(); ++other) {
            const bool related = stream == legacy ? streams_[other].blocks
                                                  : other == legacy && streams_[stream].blocks;
            if (related) {
                set.insert(streams_[other].done.begin(), streams_[other].done.end());
            }
        }
        return set;
    }

    void step() {
        Instruction instruction{static_cast<Step>(pick(8) % 5), pick(streams_.size()),
                                pick(event_count)};
        ModelStream &stream = streams_[instruction.stream];
        Set before = after(instruction.stream);
        switch (instruction.step) {
        case Step::launch:
            instruction.number = static_cast<int>(before_.size());
            before_.push_back(before);
            before.insert(instruction.number);
            stream.done = std::move(before);
            break;
        case Step::record:
            events_[instruction.event] = before;
            stream.done = std::move(before);
            break;
        case Step::wait:
            before.insert(events_[instruction.event].begin(), events_[instruction.event].end());
            stream.done = std::move(before);
            break;
        case Step::synchronize_stream:
            // Another stream depends on legacy work only with the next operation enqueued in it.
            instruction.before = instruction.stream == legacy ? before : stream.done;
            break;
        case Step::synchronize_event:
            instruction.before = events_[instruction.event];
            break;
        }
        program_.push_back(std::move(instruction));
    }

    std::mt19937 random_;
    std::vector<ModelStream> streams_;
    Set events_[event_count];
    std::vector<Set> before_; // of every launch
    std::vector<Instruction> program_;
};

} // namespace

TEST_CASE("random programs run in an order that the model allows") {
    const bool long_ones = GENERATE(false, true);
    const int programs = long_ones ? 4 : 40;
    for (int number = 0; number < programs; ++number) {
        const Program program(static_cast<unsigned int>(number), long_ones ? 400 : 40);
        for (const auto &mode : all_modes()) {
            INFO("program " << number << ", " << mode);
            start(mode);
            program.check_legal(program.run());
        }
    }
}

TEST_CASE("a seed repeats its order, other seeds give other orders") {
    for (unsigned int number = 1000; number < 1004; ++number) {
        const Program program(number, 60);
        std::set<std::vector<int>> orders;
        for (unsigned int seed = 1; seed <= 12; ++seed) {
            start(adversarial(seed));
            const auto order = program.run();
            program.check_legal(order);
            start(adversarial(seed));
            CHECK(program.run() == order);
            orders.insert(order);
        }
        CHECK(orders.size() > 3);
    }
}
