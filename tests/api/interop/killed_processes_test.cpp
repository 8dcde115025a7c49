// Processes that share memory and are killed at random moments: those that survive do not hang,
// lose nothing, and are told clearly what does not work any more. One process makes what three
// open: two others, and this one.
//
// API_TEST_ROUNDS sets how often that is done, API_TEST_SEED repeats a run.
#include "harness/exported_memory.hpp"
#include "harness/ipc_resources.hpp"

#include "support/child_process.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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
using support::ok;

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int patience_s = 30;

void set_patience(int socket) {
    const timeval time{patience_s, 0};
    REQUIRE(setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
    REQUIRE(setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) == 0);
}

// Whether the other side has sent something, or is done.
bool is_told(int socket) {
    pollfd waiting{socket, POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
}

// No error is without a word on which call failed, or what was wrong with an argument.
bool is_clear(const Error &error) {
    const std::string message = error.message();
    const std::string call = error.entry_point();
    return error.status() == 0 ? error.kind() == ErrorKind::invalid_argument && !message.empty()
                               : !call.empty() && message.find(call) != std::string::npos;
}

// What came of an opener's work: where a call failed, what it said.
struct Outcome {
    int uses = 0;
    bool failed = false;
    bool clear = true;
    bool whole = true; // what was read is what one of them wrote
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

// Opens what arrives at the socket, uses it until `done()`, closes it.
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

// --- the processes that may be killed: they end when the channel is shut down

TEST_CASE("child: makes what others open", "[.]") {
    const Channel parent = Channel::of_parent();
    const Worker worker = ok(Worker::on(ok(Device::get(0))));
    const IpcResources resources = ok(IpcResources::make(worker));
    {
        const ResourceMessage message = ok(resources.to_message(worker));
        ok(message.send(parent.socket()));
    }
    for (int value = 0; !is_told(parent.socket()); value = (value + 1) % 1000) {
        ok(resources.write(worker, value));
    }
}

TEST_CASE("child: opens what another makes", "[.]") {
    Channel parent = Channel::of_parent();
    set_patience(parent.socket());
    const Worker worker = ok(Worker::on(ok(Device::get(0))));
    const auto message = ResourceMessage::receive(parent.socket());
    Outcome outcome;
    if (message) {
        outcome = open_and_use(worker, *message, [&] { return is_told(parent.socket()); });
    } else {
        outcome.note(message.error());
    }
    parent.send(outcome);
}

// --- rounds

namespace {

// Who is killed, and when.
struct Plan {
    bool maker = false;
    bool openers[2] = {};
    Clock::duration delay{}; // from the moment on when the first of them is started

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
    Outcome openers[2]; // of those that were not killed
    Clock::duration until_arrival{};
};

class Round {
  public:
    Round(const Worker &worker, const Plan &plan) : worker_(worker), plan_(plan) {
        for (Child *child : {&maker_, &openers_[0], &openers_[1]}) {
            set_patience(child->channel().socket());
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

    // Some uses more after the others are dead.
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
    Child maker_{"child: makes what others open"};
    Child openers_[2] = {Child("child: opens what another makes"),
                         Child("child: opens what another makes")};
    std::atomic<bool> killed_ = false;
    int uses_after_ = 0;
};

// Only who has lost the maker may fail, and then says clearly what at. Nobody may be given other
// memory.
void check_outcome(const Outcome &outcome, const Plan &plan) {
    INFO("after " << outcome.uses << " uses: " << outcome.message);
    CHECK((plan.maker || !outcome.failed));
    CHECK(outcome.clear);
    CHECK(outcome.whole);
    CHECK(outcome.in_time);
}

// What this process has open, and what is free of the device.
struct Holdings {
    std::size_t descriptors = 0;
    std::size_t free_memory = 0;

    static Holdings of(const Worker &worker) {
        return {support::open_descriptors(), ok(worker.context.memory_info()).free};
    }
    friend bool operator==(const Holdings &, const Holdings &) = default;
};

// The system takes back what killed processes had, and may take a moment for it.
Holdings holdings_at_last(const Worker &worker, const Holdings &expected) {
    Holdings now = Holdings::of(worker);
    for (int rest = 100; rest > 0 && now != expected; --rest) {
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

// How often the survivor got how far.
struct Tally {
    unsigned int unopened = 0; // the maker died too early
    unsigned int failed = 0;   // something did not work any more
    unsigned int used = 0;     // all worked, whoever had died

    void add(const Outcome &outcome) {
        ++(outcome.uses == 0 ? unopened : outcome.failed ? failed : used);
    }
    void print() const {
        std::printf("the survivor: %u times all worked, %u times something did not any more, %u "
                    "times nothing could be opened\n",
                    used, failed, unopened);
    }
};

// Undisturbed, and so that drivers have by then what they keep. How long it takes until something
// arrives.
Clock::duration run_undisturbed(const Worker &worker) {
    const RoundResult result = Round(worker, {}).run();
    for (const Outcome &outcome : {result.survivor, result.openers[0], result.openers[1]}) {
        check_outcome(outcome, {});
        CHECK(outcome.uses > 0);
    }
    return result.until_arrival;
}

} // namespace

TEST_CASE("a word that nobody wrote is told from a call that fails", "[killed_processes]") {
    restart("");
    const Worker worker = ok(Worker::on(ok(Device::get(0))));
    const auto memory = ok(DeviceBuffer<int>::allocate(worker.context, resource_words));
    ok(worker.fill(memory.span(), resource_tag | 3));
    CHECK(check_words(worker, memory.span()));
    ok(worker.fill(ok(memory.span().subspan(resource_words - 1, 1)), 3));
    CHECK(is_foreign(error_of(check_words(worker, memory.span()))));
    const Error refused =
        error_of(DeviceBuffer<int>::allocate(worker.context, ~std::size_t{0} / 8));
    CHECK_FALSE(is_foreign(refused));
}

TEST_CASE("what a process exported before it died is refused clearly, or there still",
          "[killed_processes][ipc][virtual_memory]") {
    restart("");
    const Worker worker = ok(Worker::on(ok(Device::get(0))));
    const auto open_after_death = [&] {
        Child maker("child: makes what others open");
        set_patience(maker.channel().socket());
        const ResourceMessage message = ok(ResourceMessage::receive(maker.channel().socket()));
        maker.kill();
        const auto opened = OpenedIpcResources::open(worker, message); // by IPC handles, too
        REQUIRE_FALSE(opened.has_value());
        INFO(opened.error().message());
        CHECK(is_clear(opened.error()));
        // A descriptor keeps its memory, whoever made it.
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
        CHECK(after.free_memory == before.free_memory);
    }
}

TEST_CASE("processes are killed while they share memory, and the others live on",
          "[killed_processes][ipc][pool][virtual_memory]") {
    restart("");
    const unsigned int rounds = number_in("API_TEST_ROUNDS", simulator() != nullptr ? 8 : 200);
    const unsigned int seed = number_in("API_TEST_SEED", std::random_device()());
    std::printf("%u rounds, API_TEST_SEED=%u\n", rounds, seed);
    const Worker worker = ok(Worker::on(ok(Device::get(0))));
    (void)run_undisturbed(worker);
    const Clock::duration usual = run_undisturbed(worker);
    std::printf("the first things arrive after %.3f s\n", Seconds(usual).count());
    Holdings before = Holdings::of(worker);
    Tally tally;
    unsigned int losses = 0;
    for (unsigned int number = 0; number < rounds; ++number) {
        if (number % 20 == 0) {
            std::printf("round %u of %u\n", number, rounds);
            std::fflush(stdout);
        }
        std::mt19937 random(seed + number);
        const Plan plan = Plan::random(random, usual);
        INFO("round " << number << " of seed " << seed << ": " << plan.text());
        const RoundResult result = Round(worker, plan).run();
        check_outcome(result.survivor, plan);
        for (int index : {0, 1}) {
            check_outcome(result.openers[index], plan);
        }
        tally.add(result.survivor);
        const Holdings after = holdings_at_last(worker, before);
        CHECK(after.descriptors == before.descriptors);
        CHECK(after.free_memory == before.free_memory);
        losses += after == before ? 0 : 1;
        REQUIRE(losses < 3); // each takes seconds to be sure of
        before = after;
    }
    tally.print();
}
