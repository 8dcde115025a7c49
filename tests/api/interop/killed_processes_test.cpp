// Processes that share memory and are killed at random times: the survivors do not hang, leak
// nothing, and get clear errors. One process makes resources; two others and this one open them.
// With several devices, a process for each device does that at the same time.
//
// API_TEST_ROUNDS is the number of rounds on all devices together; API_TEST_SEED repeats a run.
#include "harness/exported_memory.hpp"
#include "harness/ipc_resources.hpp"

#include "support/child_process.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

using namespace api_test;
using namespace cushim;
using support::Channel;
using support::Child;

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int patience_s = 30;

// Settings of the simulator, which has one device by default.
std::string devices_setting() {
    return std::getenv("API_TEST_DEVICES") != nullptr ? many_devices() : "";
}

void set_patience(int socket) {
    const timeval time{patience_s, 0};
    REQUIRE(setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
    REQUIRE(setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) == 0);
}

// Whether the other side has sent something or has shut down the channel.
bool must_stop(int socket) {
    pollfd waiting{socket, POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
}

// Whether the error names the call that failed, or describes an invalid argument.
bool is_clear(const Error &error) {
    const std::string message = error.message();
    const std::string call = error.entry_point();
    return error.status() == 0 ? error.kind() == ErrorKind::invalid_argument && !message.empty()
                               : !call.empty() && message.find(call) != std::string::npos;
}

// The result of an opening process, with its first error.
struct Outcome {
    int uses = 0;
    bool failed = false;
    bool clear = true;
    bool whole = true; // every word that was read has the tag
    bool in_time = true;
    char message[240] = "";

    void note(const Result<void> &result) {
        if (!result && !failed) {
            failed = true;
            clear = is_clear(result.error());
            whole = !is_foreign(result.error());
            in_time = result.error().status() != CUDA_ERROR_TIMEOUT;
            std::snprintf(message, sizeof message, "%s", result.error().message());
        }
    }
};

// Opens the resources of the message, uses them until `done()`, and closes them.
template <class Done>
Outcome open_and_use(const Worker &worker, const ResourceMessage &message, const Done &done) {
    Outcome outcome;
    auto opened = OpenedIpcResources::open(worker, message);
    if (!opened) {
        outcome.note(opened.error());
        return outcome;
    }
    do {
        const auto used = opened->use(worker, outcome.uses % 1000);
        outcome.note(used);
        outcome.uses += used ? 1 : 0;
    } while (!outcome.failed && !done());
    outcome.note(opened->close(worker));
    return outcome;
}

} // namespace

// --- the processes that may be killed; they exit when the channel is shut down

TEST_CASE("child: makes resources for others", "[.]") {
    Channel parent = Channel::of_parent();
    const Worker worker = ok(Worker::on(ok(Device::get(parent.receive<CUdevice>()))));
    IpcResources resources = ok(IpcResources::make(worker));
    {
        const ResourceMessage message = ok(resources.to_message(worker));
        ok(message.send(parent.socket()));
    }
    for (int value = 0; !must_stop(parent.socket()); value = (value + 1) % 1000) {
        ok(resources.write(worker, value));
    }
}

TEST_CASE("child: opens resources of another", "[.]") {
    Channel parent = Channel::of_parent();
    set_patience(parent.socket());
    const Worker worker = ok(Worker::on(ok(Device::get(parent.receive<CUdevice>()))));
    const auto message = ResourceMessage::receive(parent.socket());
    Outcome outcome;
    if (message) {
        outcome = open_and_use(worker, *message, [&] { return must_stop(parent.socket()); });
    } else {
        outcome.note(message.error());
    }
    parent.send(outcome);
}

// --- rounds

namespace {

// The processes to kill, and the time.
struct Plan {
    bool maker = false;
    bool openers[2] = {};
    Clock::duration delay{}; // after the start of the first process

    static Plan random(std::mt19937 &random, Clock::duration usual) {
        const unsigned int who = std::uniform_int_distribution(1u, 7u)(random);
        const double when = std::uniform_real_distribution(0.0, 1.5)(random);
        return {(who & 1) != 0,
                {(who & 2) != 0, (who & 4) != 0},
                std::chrono::duration_cast<Clock::duration>(usual * when)};
    }

    std::string text() const {
        return "killed after " + std::to_string(Seconds(delay).count()) +
               " s:" + (maker ? " the maker" : "") + (openers[0] ? " one opener" : "") +
               (openers[1] ? " the other opener" : "");
    }
};

struct RoundResult {
    Outcome survivor;
    Outcome openers[2]; // of openers that were not killed
    Clock::duration until_arrival{};
};

class Round {
  public:
    Round(const Worker &worker, const Plan &plan) : worker_(worker), plan_(plan) {
        for (Child *child : {&maker_, &openers_[0], &openers_[1]}) {
            set_patience(child->channel().socket());
            child->channel().send(worker_.device.native());
        }
    }

    RoundResult run() {
        RoundResult result;
        std::thread killer([this] { kill(); });
        const auto message = ResourceMessage::receive(maker_.channel().socket());
        result.until_arrival = Clock::now() - begin_;
        if (message) {
            for (Child &opener : openers_) {
                (void)message->send(opener.channel().socket()); // it may be dead
            }
            result.survivor = open_and_use(worker_, *message, [this] { return is_over(); });
        } else {
            result.survivor.note(message.error());
        }
        killer.join();
        for (int index : {0, 1}) {
            if (!plan_.openers[index]) {
                result.openers[index] = end(openers_[index]);
            }
        }
        if (!plan_.maker) {
            shutdown(maker_.channel().socket(), SHUT_WR);
            CHECK(maker_.passed());
        }
        return result;
    }

  private:
    void kill() {
        std::this_thread::sleep_until(begin_ + plan_.delay);
        for (int index : {0, 1}) {
            if (plan_.openers[index]) {
                openers_[index].kill();
            }
        }
        if (plan_.maker) {
            maker_.kill();
        }
        killed_ = true;
    }

    // Some more uses after the processes are killed.
    bool is_over() { return killed_ && ++uses_after_ > 3; }

    Outcome end(Child &opener) {
        shutdown(opener.channel().socket(), SHUT_WR);
        const auto outcome = opener.channel().receive<Outcome>();
        CHECK(opener.passed());
        return outcome;
    }

    const Worker &worker_;
    const Plan plan_;
    const Clock::time_point begin_ = Clock::now();
    Child maker_{"child: makes resources for others", devices_setting()};
    Child openers_[2] = {Child("child: opens resources of another", devices_setting()),
                         Child("child: opens resources of another", devices_setting())};
    std::atomic<bool> killed_ = false;
    int uses_after_ = 0;
};

// An opener may fail only if the maker was killed, with a clear error, and must not read other
// memory.
void check_outcome(const Outcome &outcome, const Plan &plan) {
    INFO("after " << outcome.uses << " uses: " << outcome.message);
    CHECK((plan.maker || !outcome.failed));
    CHECK(outcome.clear);
    CHECK(outcome.whole);
    CHECK(outcome.in_time);
}

// Open descriptors of this process, and free device memory.
struct Holdings {
    std::size_t descriptors = 0;
    std::size_t free_memory = 0;

    static Holdings of(const Worker &worker) {
        return {support::open_descriptors(), ok(worker.context.memory_info()).free};
    }
    // Free memory grows if memory of an earlier round was freed late. The driver takes some for
    // itself, 64 KiB at a time, but a lost allocation takes at least 2 MiB.
    bool has_memory_of(const Holdings &before) const {
        return free_memory + (2 << 20) > before.free_memory;
    }
    // Nothing was lost.
    bool has_all_of(const Holdings &before) const {
        return descriptors == before.descriptors && has_memory_of(before);
    }
};

// The system releases resources of killed processes a little later.
Holdings holdings_at_last(const Worker &worker, const Holdings &before) {
    Holdings now = Holdings::of(worker);
    for (int rest = 100; rest > 0 && !now.has_all_of(before); --rest) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        now = Holdings::of(worker);
    }
    return now;
}

unsigned int number_in(const char *variable, unsigned int otherwise) {
    const char *text = std::getenv(variable);
    return text != nullptr && *text != '\0' ? static_cast<unsigned int>(std::stoul(text))
                                            : otherwise;
}

// Counts of the results of the survivor.
struct Tally {
    unsigned int unopened = 0; // the maker died too early
    unsigned int failed = 0;   // a use failed
    unsigned int used = 0;     // all uses succeeded

    void add(const Outcome &outcome) {
        ++(outcome.uses == 0 ? unopened : outcome.failed ? failed : used);
    }
    void print(CUdevice device) const {
        std::printf("the survivor on device %d: all uses succeeded in %u rounds, failed in %u; "
                    "opening failed in %u\n",
                    device, used, failed, unopened);
    }
};

// Runs a round without kills, in which drivers allocate what they keep. Returns the time until the
// message arrives.
Clock::duration run_undisturbed(const Worker &worker) {
    const RoundResult result = Round(worker, {}).run();
    for (const Outcome &outcome : {result.survivor, result.openers[0], result.openers[1]}) {
        check_outcome(outcome, {});
        CHECK(outcome.uses > 0);
    }
    return result.until_arrival;
}

} // namespace

TEST_CASE("a word without the tag is distinguished from a failed call", "[killed_processes]") {
    restart("");
    const Worker worker = ok(Worker::on(ok(Device::get(0))));
    auto memory = ok(DeviceBuffer<int>::allocate(worker.context, resource_words));
    ok(worker.fill(memory.span(), resource_tag | 3));
    CHECK(check_words(worker, memory.span()));
    ok(worker.fill(ok(memory.span().subspan(resource_words - 1, 1)), 3));
    CHECK(is_foreign(error_of(check_words(worker, memory.span()))));
    const Error refused =
        error_of(DeviceBuffer<int>::allocate(worker.context, ~std::size_t{0} / 8));
    CHECK_FALSE(is_foreign(refused));
}

TEST_CASE("opening IPC handles of a dead process fails, and its descriptors stay usable",
          "[killed_processes][ipc][virtual_memory]") {
    restart("");
    const Worker worker = ok(Worker::on(ok(Device::get(0))));
    const auto open_after_death = [&] {
        Child maker("child: makes resources for others", devices_setting());
        set_patience(maker.channel().socket());
        maker.channel().send(worker.device.native());
        const ResourceMessage message = ok(ResourceMessage::receive(maker.channel().socket()));
        maker.kill();
        auto opened = OpenedIpcResources::open(worker, message); // includes IPC handles
        REQUIRE_FALSE(opened.has_value());
        INFO(opened.error().message());
        CHECK(is_clear(opened.error()));
        // A descriptor keeps its memory alive.
        const std::size_t size = message.handles.mapped_size;
        const auto memory = ok(PhysicalMemory::import_fd(message.mapped.get(), size));
        const auto mapped = ok(map_own(memory));
        const auto span = ok(mapped.span<int>().subspan(0, resource_words));
        const auto words = ok(worker.read(span));
        CHECK(std::all_of(words.begin(), words.end(),
                          [](int word) { return (word & resource_tag_mask) == resource_tag; }));
    };
    open_after_death();
    const Holdings before = Holdings::of(worker);
    for (int index = 0; index < 5; ++index) {
        open_after_death();
        const Holdings after = holdings_at_last(worker, before);
        CHECK(after.descriptors == before.descriptors);
        CAPTURE(after.free_memory, before.free_memory);
        CHECK(after.has_memory_of(before));
    }
}

namespace {

// What a process does on one device; it sends a signal after each round.
struct Task {
    CUdevice device;
    unsigned int first; // number of the first round
    unsigned int rounds;
    unsigned int seed;
};

// Calls done() after each round.
template <class Done>
void survive(const Task &task, const Done &done) {
    const Worker worker = ok(Worker::on(ok(Device::get(task.device))));
    (void)run_undisturbed(worker);
    const Clock::duration usual = run_undisturbed(worker);
    std::printf("device %d: the first message arrives after %.3f s\n", task.device,
                Seconds(usual).count());
    Holdings before = Holdings::of(worker);
    Tally tally;
    unsigned int losses = 0;
    for (unsigned int number = task.first; number < task.first + task.rounds; ++number) {
        std::mt19937 random(task.seed + number);
        const Plan plan = Plan::random(random, usual);
        INFO("device " << task.device << ", round " << number << " of seed " << task.seed << ": "
                       << plan.text());
        const RoundResult result = Round(worker, plan).run();
        check_outcome(result.survivor, plan);
        for (int index : {0, 1}) {
            check_outcome(result.openers[index], plan);
        }
        tally.add(result.survivor);
        const Holdings after = holdings_at_last(worker, before);
        CHECK(after.descriptors == before.descriptors);
        CAPTURE(after.free_memory, before.free_memory);
        CHECK(after.has_memory_of(before));
        losses += after.has_all_of(before) ? 0 : 1;
        REQUIRE(losses < 3); // each takes seconds to confirm
        before.free_memory = std::max(before.free_memory, after.free_memory);
        done();
    }
    tally.print(task.device);
    std::fflush(stdout);
}

void print_progress(unsigned int round, unsigned int rounds) {
    if (round % 20 == 0) {
        std::printf("round %u of %u\n", round, rounds);
        std::fflush(stdout);
    }
}

// The rounds are divided among processes, one for each device.
void survive_on_all(int devices, unsigned int rounds, unsigned int seed) {
    const auto count = static_cast<unsigned int>(devices);
    const unsigned int each = (rounds + count - 1) / count;
    std::vector<std::unique_ptr<Child>> children;
    for (unsigned int index = 0; index < count; ++index) {
        children.push_back(
            std::make_unique<Child>("child: survives on one device", devices_setting()));
        children.back()->channel().send(
            Task{static_cast<CUdevice>(index), index * each, each, seed});
    }
    for (unsigned int round = 0; round < each; ++round) {
        print_progress(round * count, each * count);
        for (const auto &child : children) {
            child->channel().await();
        }
    }
    for (const auto &child : children) {
        CHECK(child->passed());
    }
}

} // namespace

TEST_CASE("the survivors of killed processes get clear errors and leak nothing",
          "[killed_processes][ipc][pool][virtual_memory]") {
    restart(devices_setting());
    const unsigned int rounds = number_in("API_TEST_ROUNDS", simulator() != nullptr ? 8 : 60);
    const unsigned int seed = number_in("API_TEST_SEED", std::random_device()());
    const int devices = ok(Device::count());
    std::printf("%u rounds on %d devices, API_TEST_SEED=%u\n", rounds, devices, seed);
    if (devices > 1) {
        survive_on_all(devices, rounds, seed);
        return;
    }
    unsigned int done = 0;
    survive({0, 0, rounds, seed}, [&] { print_progress(++done, rounds); });
}

TEST_CASE("child: survives on one device", "[.]") {
    Channel parent = Channel::of_parent();
    survive(parent.receive<Task>(), [&] { parent.signal(); });
}
