// Owners at the exit of a process, and in a forked child.
#include "harness/scenario.hpp"
#include "harness/spied_call.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/teardown.hpp>

#include "contains.hpp"
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

// Constructed before the driver is loaded, so destroyed when the driver may be unloaded.
Owners global;

} // namespace

TEST_CASE("destructors of static owners report no failure", "[process]") {
    support::Child child("child: exits with static owners");
    CHECK(child.passed());
}

TEST_CASE("child: exits with static owners", "[.]") {
    support::Channel::of_parent();
    // A report after main() cannot be counted, so it ends the process.
    set_teardown_sink({[](const TeardownFailure &, void *) { _exit(1); }, nullptr});
    auto before = ok(make_owners());
    global = std::move(before);
    static Owners local;
    auto after = ok(make_owners());
    local = std::move(after);
}

TEST_CASE("a process exits normally while another thread uses the driver", "[process]") {
    support::Child child("child: exits while a thread uses the driver");
    CHECK(child.passed());
}

TEST_CASE("child: exits while a thread uses the driver", "[.]") {
    support::Channel::of_parent();
    const auto context = ok(Trial::context());
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

// CUDA does not work in a forked child, and the inherited objects belong to the parent.
TEST_CASE("a forked child does not destroy its parent's objects", "[process]") {
    restart("");
    auto owners = ok(make_owners());
    const pid_t process = fork();
    if (process == 0) {
        count_reports();
        owners = Owners();
        _exit(reports);
    }
    check_exits_well(process);
    // The parent's objects still work.
    CHECK(fill(owners.stream, owners.buffer.span(), 1).has_value());
    CHECK(owners.event.record(owners.stream).has_value());
    CHECK(owners.stream.synchronize().has_value());
    CHECK(owners.buffer.close().has_value());
    CHECK(owners.event.close().has_value());
    CHECK(owners.stream.close().has_value());
    CHECK(owners.context.close().has_value());
}

TEST_CASE("a forked child does not pop the context of its parent's scope", "[process]") {
    const auto context = context_after_restart("");
    static int pops;
    pops = 0;
    const SpiedCall<entry::cuCtxPopCurrent> spied([](CUcontext *) { ++pops; });
    pid_t process = -1;
    {
        const auto scope = ok(context.enter());
        process = fork();
        if (process == 0) {
            count_reports();
        }
    }
    if (process == 0) {
        _exit(reports + pops);
    }
    check_exits_well(process);
    CHECK(pops == 1); // by the parent
    CHECK(ok(Context::current()).native() == nullptr);
}

TEST_CASE("CUDA calls in a forked child fail with CUDA_ERROR_NOT_INITIALIZED", "[process]") {
    restart("");
    const auto owners = ok(make_owners());
    const pid_t process = fork();
    if (process == 0) {
        const auto devices = Device::count();
        const bool failed_as_expected =
            !devices && devices.error().status() == CUDA_ERROR_NOT_INITIALIZED &&
            support::contains(devices.error().message(), "forked from a process that used CUDA");
        _exit(failed_as_expected ? 0 : 1);
    }
    check_exits_well(process);
}
