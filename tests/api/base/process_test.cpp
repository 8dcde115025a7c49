// Owners at the end of a process, and in the child of a fork.
#include "harness/scenario.hpp"
#include "harness/spied_call.hpp"

#include "support/child_process.hpp"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace api_test;
using namespace cushim;

namespace {

int reports = 0;

void count_reports() {
    set_teardown_sink({[](const TeardownFailure &, void *) { ++reports; }, nullptr});
}

void check_exits_well(pid_t process) {
    REQUIRE(process > 0);
    int status = -1;
    REQUIRE(waitpid(process, &status, 0) == process);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

struct Owners {
    Context context;
    Stream stream;
    Event event;
    DeviceBuffer<int> buffer;
};

Result<Owners> make_owners() {
    Owners owners;
    CUSHIM_TRY(owners.context, Trial::context());
    CUSHIM_TRY(owners.stream, Stream::create(owners.context));
    CUSHIM_TRY(owners.event, Event::create(owners.context));
    CUSHIM_TRY(owners.buffer, DeviceBuffer<int>::allocate(owners.context, 100));
    return owners;
}

// Destroyed after main, when the driver may be gone: made before the driver was loaded.
Owners global;

} // namespace

TEST_CASE("owners with static storage end quietly", "[process]") {
    support::Child child("child: leaves owners to the end");
    CHECK(child.passed());
}

TEST_CASE("child: leaves owners to the end", "[.]") {
    support::Channel::of_parent();
    // A report after main would come too late to be counted: end at once.
    set_teardown_sink({[](const TeardownFailure &, void *) { _exit(1); }, nullptr});
    auto before = required(make_owners());
    global = std::move(before);
    static Owners local;
    auto after = required(make_owners());
    local = std::move(after);
}

TEST_CASE("another thread uses the driver while the process ends", "[process]") {
    support::Child child("child: ends under a busy thread");
    CHECK(child.passed());
}

TEST_CASE("child: ends under a busy thread", "[.]") {
    support::Channel::of_parent();
    const auto context = required(Trial::context());
    static std::atomic<int> rounds;
    std::thread([shared = context.share()] {
        for (;;) {
            (void)Event::create(shared);
            ++rounds;
        }
    }).detach();
    while (rounds < 100) {
        std::this_thread::yield();
    }
}

// The child of a fork has no driver that works, and what it got from its parent is the parent's.
TEST_CASE("a forked child leaves its parent's objects alone", "[process]") {
    restart("");
    auto owners = required(make_owners());
    const pid_t process = fork();
    if (process == 0) {
        count_reports();
        owners = Owners();
        _exit(reports);
    }
    check_exits_well(process);
    // Here everything lives still.
    CHECK(fill(owners.stream, owners.buffer.span(), 1).has_value());
    CHECK(owners.event.record(owners.stream).has_value());
    CHECK(owners.stream.synchronize().has_value());
    CHECK(owners.buffer.close().has_value());
    CHECK(owners.event.close().has_value());
    CHECK(owners.stream.close().has_value());
    CHECK(owners.context.close().has_value());
}

TEST_CASE("a scope that a forked child leaves is its parent's", "[process]") {
    const auto context = context_after_restart("");
    static int pops;
    pops = 0;
    const SpiedCall<entry::cuCtxPopCurrent> spied([](CUcontext *) { ++pops; });
    pid_t process = -1;
    {
        const auto scope = required(context.enter());
        process = fork();
        if (process == 0) {
            count_reports();
        }
    }
    if (process == 0) {
        _exit(reports + pops);
    }
    check_exits_well(process);
    CHECK(pops == 1); // the parent's own
    CHECK(Context::current().value().native() == nullptr);
}

TEST_CASE("a forked child is told that CUDA does not work there", "[process]") {
    restart("");
    const auto owners = required(make_owners());
    const pid_t process = fork();
    if (process == 0) {
        const auto devices = Device::count();
        const bool told = !devices && devices.error().status() == CUDA_ERROR_NOT_INITIALIZED;
        _exit(told ? 0 : 1);
    }
    check_exits_well(process);
}
