// Semaphores of other APIs, imported and used in streams. Tags such as [X7] name rows of the
// checklist.
#include "../../src/api/interop/external_descriptions.hpp"
#include "harness/external.hpp"
#include "harness/spied_call.hpp"

#include <cushim/device_buffer.hpp>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>

#ifdef _WIN32
#include <windows.h>
#else
#include "harness/exported_memory.hpp"
#include "harness/simulated_semaphore.hpp"
#endif

using namespace api_test;
using namespace cushim;

#ifdef _WIN32

SCENARIO_TEST("importing a semaphore by a Windows handle leaves the handle open", "[X7][X8][X9]",
              (Trial &trial, const Context &context)) {
    if (simulator() == nullptr) {
        trial.skip("needs a semaphore of another API");
    }
    const std::intptr_t number = simulator()->make_semaphore_fd(0);
    const std::unique_ptr<void, decltype(&CloseHandle)> handle(reinterpret_cast<HANDLE>(number),
                                                               CloseHandle);
    auto imported = TimelineSemaphore::import_win32(context, Win32Handle::handle(handle.get()));
    DWORD flags = 0;
    CHECK(GetHandleInformation(handle.get(), &flags) != 0);
    CUSHIM_TRY(const auto semaphore, std::move(imported));
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY_VOID(semaphore.signal(first, 5));
    CUSHIM_TRY_VOID(semaphore.wait(second, 5));
    return second.synchronize();
}

TEST_CASE("a timeline of a Windows handle fails on a device without timelines", "[X7][X12]") {
    need_simulator("needs the simulator, whose devices can lack a feature");
    const Context context = context_after_restart(
        "attribute.114=0"); // CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED
    const std::intptr_t number = simulator()->make_semaphore_fd(0);
    const std::unique_ptr<void, decltype(&CloseHandle)> handle(reinterpret_cast<HANDLE>(number),
                                                               CloseHandle);
    static int imports;
    imports = 0;
    const SpiedCall<entry::cuImportExternalSemaphore> spied(
        [](CUexternalSemaphore *, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *) { ++imports; });
    const Error timeline =
        error_of(TimelineSemaphore::import_win32(context, Win32Handle::handle(handle.get())));
    CHECK(timeline.kind() == ErrorKind::not_supported_by_device);
    CHECK(imports == 0);
}

#else

namespace {

Result<unsigned int> first_of(const Context &context, DeviceSpan<unsigned int> span) {
    std::vector<unsigned int> values(span.size());
    CUSHIM_TRY_VOID(copy(context, std::span(values), span));
    return values.front();
}

} // namespace

SCENARIO_TEST("a stream waits for the signal of another stream", "[X8][X9]",
              (Trial &trial, const Context &context)) {
    need_simulator(trial);
    const SimulatedSemaphore theirs(0);
    CUSHIM_TRY(const auto semaphore, TimelineSemaphore::import_fd(context, theirs.exported()));
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(auto buffer, DeviceBuffer<unsigned int>::allocate(context, 100));
    CUSHIM_TRY_VOID(fill(first, buffer.span(), 7));
    CUSHIM_TRY_VOID(semaphore.signal(first, 5));
    CUSHIM_TRY_VOID(semaphore.wait(second, 5));
    CUSHIM_TRY_VOID(fill(second, buffer.span(), 8));
    CUSHIM_TRY_VOID(second.synchronize());
    CUSHIM_TRY_VOID(check_gives(first_of(context, buffer.span()), 8));
    CHECK(theirs.value() == 5);
    return {};
}

SCENARIO_TEST("each signal of a binary semaphore lets one wait through", "[X7][X8][X9]",
              (Trial &trial, const Context &context)) {
    need_simulator(trial);
    const SimulatedSemaphore theirs(0);
    CUSHIM_TRY(const auto semaphore, BinarySemaphore::import_fd(context, theirs.exported()));
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY_VOID(semaphore.signal(first));
    CUSHIM_TRY_VOID(semaphore.wait(second));
    CUSHIM_TRY_VOID(second.synchronize());
    CHECK(theirs.value() == 0);
    CUSHIM_TRY_VOID(semaphore.signal(second));
    CUSHIM_TRY_VOID(second.synchronize());
    CHECK(theirs.value() == 1);
    return {};
}

SCENARIO_TEST("a batch signals and waits for several semaphores", "[X8][X9]",
              (Trial &trial, const Context &context, const Stream &stream)) {
    need_simulator(trial);
    const SimulatedSemaphore one(0), two(0);
    CUSHIM_TRY(const auto timeline, TimelineSemaphore::import_fd(context, one.exported()));
    CUSHIM_TRY(const auto binary, BinarySemaphore::import_fd(context, two.exported()));
    CUSHIM_TRY_VOID(signal_semaphores(stream, {timeline.signaling(3), binary.signaling()}));
    CUSHIM_TRY_VOID(wait_semaphores(stream, {binary.waiting(), timeline.waiting(2)}));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(one.value() == 3);
    CHECK(two.value() == 0);
    return {};
}

// The other API writes and this side computes, in turns.
SCENARIO_TEST("two APIs take turns on shared memory", "[X13]",
              (Trial &trial, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    need_simulator(trial);
    SimulatedSemaphore theirs(0);
    CUSHIM_TRY(auto exported, export_memory(1));
    CUSHIM_TRY(const auto memory, import_whole(context, exported));
    CUSHIM_TRY(const auto buffer, memory.map_buffer(0, 1024));
    CUSHIM_TRY(const auto words, buffer.as<unsigned int>());
    CUSHIM_TRY(const auto frame, TimelineSemaphore::import_fd(context, theirs.exported()));
    for (unsigned int n = 1; n <= 3; ++n) {
        theirs.set(2 * n - 1); // the other side has written
        CUSHIM_TRY_VOID(frame.wait(stream, 2 * n - 1));
        CUSHIM_TRY_VOID(fill(stream, words, n));
        CUSHIM_TRY_VOID(frame.signal(stream, 2 * n));
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(theirs.value() == 2 * n);
    }
    return check_gives(first_of(context, words), 3);
}

SCENARIO_TEST("semaphores are shared, released and adopted", "[X6][X10]",
              (Trial &trial, const Context &context)) {
    need_simulator(trial);
    const SimulatedSemaphore theirs(0);
    CUSHIM_TRY(auto first, TimelineSemaphore::import_fd(context, theirs.exported()));
    TimelineSemaphore second = first.share();
    CHECK(second.native() == first.native());
    CUSHIM_TRY_VOID(first.close());
    CHECK_FALSE(first);
    CHECK(first.native() == nullptr);
    const CUexternalSemaphore native = second.release();
    CHECK_FALSE(second);
    auto adopted = ok(TimelineSemaphore::adopt(context, native));
    CHECK(TimelineSemaphore::borrow(context, native).native() == native);
    return adopted.close();
}

TEST_CASE("importing a timeline fails on a device without timelines", "[X12]") {
    need_simulator("needs the simulator, whose devices can lack a feature");
    const Context context = context_after_restart(
        "attribute.114=0"); // CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED
    UniqueFd fd(simulator()->make_semaphore_fd(0));
    static int imports;
    imports = 0;
    const SpiedCall<entry::cuImportExternalSemaphore> spied(
        [](CUexternalSemaphore *, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *) { ++imports; });
    const auto timeline = TimelineSemaphore::import_fd(context, std::move(fd));
    REQUIRE_FALSE(timeline);
    CHECK(timeline.error().kind() == ErrorKind::not_supported_by_device);
    CHECK(contains(timeline.error().message(), "timeline"));
    CHECK(imports == 0);
    CHECK(fd);
    CHECK(BinarySemaphore::import_fd(context, std::move(fd)));
}

TEST_CASE("closing a semaphore returns the failure", "[X10]") {
    need_simulator(needs_vulkan);
    const Context context = context_after_restart("");
    const SimulatedSemaphore theirs(0);
    auto semaphore = ok(BinarySemaphore::import_fd(context, theirs.exported()));
    const CUexternalSemaphore native = semaphore.native();
    {
        const ScopedOverride<entry::cuDestroyExternalSemaphore> fails(
            [](CUexternalSemaphore) { return CUDA_ERROR_INVALID_HANDLE; });
        CHECK(error_of(semaphore.close()).status() == CUDA_ERROR_INVALID_HANDLE);
        CHECK_FALSE(semaphore);
    }
    CHECK(driver().cuDestroyExternalSemaphore(native) == CUDA_SUCCESS);
}

#endif

// --- parameters and statuses of signals and waits

namespace {

CUexternalSemaphore number(std::uintptr_t value) {
    return reinterpret_cast<CUexternalSemaphore>(value);
}

// Made-up handles, which do not reach the driver.
const Context context = Context::borrow(reinterpret_cast<CUcontext>(16));
const Stream stream = Stream::borrow(reinterpret_cast<CUstream>(32));

// The parameters of the last calls.
struct Seen {
    std::vector<CUexternalSemaphore> semaphores;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits;
    CUstream stream = nullptr;
    CUresult answer = CUDA_SUCCESS;
};
Seen seen;

// Records signals and waits instead of calling the driver.
class Recorder {
  public:
    Recorder() { seen = Seen(); }

  private:
    ScopedOverride<entry::cuSignalExternalSemaphoresAsync> signal_{
        [](const CUexternalSemaphore *semaphores,
           const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *parameters, unsigned int count,
           CUstream stream) {
            seen.semaphores.assign(semaphores, semaphores + count);
            seen.signals.assign(parameters, parameters + count);
            seen.stream = stream;
            return seen.answer;
        }};
    ScopedOverride<entry::cuWaitExternalSemaphoresAsync> wait_{
        [](const CUexternalSemaphore *semaphores,
           const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *parameters, unsigned int count,
           CUstream stream) {
            seen.semaphores.assign(semaphores, semaphores + count);
            seen.waits.assign(parameters, parameters + count);
            seen.stream = stream;
            return seen.answer;
        }};
};

// Whether all other words are zero.
template <class T>
bool zero_but(T structure, std::initializer_list<std::size_t> words) {
    for (const std::size_t index : words) {
        std::memset(reinterpret_cast<char *>(&structure) + 8 * index, 0, 8);
    }
    for (std::size_t index = 0; index < sizeof structure / 8; ++index) {
        if (word(structure, index) != 0) {
            return false;
        }
    }
    return true;
}

} // namespace

TEST_CASE("each kind of semaphore passes its own parameters", "[X7][X8][X9][X11]") {
    const Recorder recorder;
    SECTION("binary") {
        const auto semaphore = BinarySemaphore::borrow(context, number(48));
        CHECK(semaphore.signal(stream));
        CHECK(semaphore.wait(stream));
        CHECK(seen.semaphores == std::vector{number(48)});
        CHECK(seen.stream == stream.native());
        CHECK(zero_but(seen.signals.at(0), {}));
        CHECK(zero_but(seen.waits.at(0), {}));
    }
    SECTION("timeline") {
        const auto semaphore = TimelineSemaphore::borrow(context, number(48));
        CHECK(semaphore.signal(stream, 0x123456789abcdef0));
        CHECK(semaphore.wait(stream, 0xfedcba9876543210));
        CHECK(seen.signals.at(0).params.fence.value == 0x123456789abcdef0);
        CHECK(word(seen.signals.at(0), 0) == 0x123456789abcdef0);
        CHECK(word(seen.waits.at(0), 0) == 0xfedcba9876543210);
        CHECK(zero_but(seen.signals.at(0), {0}));
        CHECK(zero_but(seen.waits.at(0), {0}));
    }
    SECTION("keyed mutex") {
        const auto mutex = KeyedMutex::borrow(context, number(48));
        CHECK(mutex.signal(stream, 7));
        CHECK(mutex.wait(stream, 8, 250));
        CHECK(seen.signals.at(0).params.keyedMutex.key == 7);
        CHECK(word(seen.waits.at(0), 2) == 8);
        CHECK(seen.waits.at(0).params.keyedMutex.timeoutMs == 250);
        CHECK(zero_but(seen.signals.at(0), {2}));
        CHECK(zero_but(seen.waits.at(0), {2, 3}));
        CHECK(mutex.wait(stream, 8));
        CHECK(seen.waits.at(0).params.keyedMutex.timeoutMs == 0xffffffff);
    }
    SECTION("NvSci") {
        const auto semaphore = NvSciSemaphore::borrow(context, number(48));
        int fence = 0;
        CHECK(semaphore.signal(stream, &fence));
        CHECK(semaphore.wait(stream, &fence));
        CHECK(seen.signals.at(0).params.nvSciSync.fence == &fence);
        CHECK(seen.waits.at(0).params.nvSciSync.fence == &fence);
        CHECK(zero_but(seen.signals.at(0), {1}));
        CHECK(zero_but(seen.waits.at(0), {1}));
        CHECK(semaphore.signal(stream, &fence, {.skip_memory_sync = true}));
        CHECK(semaphore.wait(stream, &fence, {.skip_memory_sync = true}));
        CHECK(seen.signals.at(0).flags == CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC);
        CHECK(seen.waits.at(0).flags == CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC);
    }
}

TEST_CASE("a batch of all kinds of semaphores is one call in order", "[X8][X9]") {
    const auto binary = BinarySemaphore::borrow(context, number(1));
    const auto timeline = TimelineSemaphore::borrow(context, number(2));
    const auto mutex = KeyedMutex::borrow(context, number(3));
    const Recorder recorder;
    CHECK(signal_semaphores(stream,
                            {timeline.signaling(10), binary.signaling(), mutex.signaling(11)}));
    CHECK(seen.semaphores == std::vector{number(2), number(1), number(3)});
    CHECK(seen.signals.at(0).params.fence.value == 10);
    CHECK(zero_but(seen.signals.at(1), {}));
    CHECK(seen.signals.at(2).params.keyedMutex.key == 11);

    // The most that fit on the stack, and more.
    for (const unsigned int count : {4U, 5U, 100U}) {
        std::vector<SemaphoreWait> waits;
        for (unsigned int i = 0; i < count; ++i) {
            waits.push_back(timeline.waiting(i));
        }
        CHECK(wait_semaphores(stream, waits));
        REQUIRE(seen.waits.size() == count);
        CHECK(seen.waits[count - 1].params.fence.value == count - 1);
        CHECK(seen.semaphores[count - 1] == number(2));
    }

    seen.semaphores.clear();
    CHECK(signal_semaphores(stream, {}));
    CHECK(wait_semaphores(stream, {}));
    CHECK(seen.semaphores.empty());
}

TEST_CASE("empty semaphores and streams are rejected without a driver call", "[X8][X9]") {
    const Stream stream = Stream::legacy();
    const Recorder recorder;
    seen.answer = CUDA_ERROR_UNKNOWN;
    check_refused(BinarySemaphore().signal(stream), "is empty");
    check_refused(TimelineSemaphore().wait(stream, 1), "is empty");
    check_refused(KeyedMutex().wait(stream, 1), "the KeyedMutex is empty");
    int fence = 0;
    check_refused(NvSciSemaphore().signal(stream, &fence), "is empty");
    const auto nvsci = NvSciSemaphore::borrow(context, number(48));
    check_refused(nvsci.wait(stream, nullptr), "NvSciSyncFence is null");
    const auto timeline = TimelineSemaphore::borrow(context, number(48));
    check_refused(timeline.signal(Stream(), 1), "is empty");
    check_refused(wait_semaphores(stream, {timeline.waiting(1), BinarySemaphore().waiting()}),
                  "waits[1] is empty");
    CHECK(seen.semaphores.empty());
}

#ifndef _WIN32

TEST_CASE("a stream of another context fails with wrong_context, a bad handle does not",
          "[X8][X9]") {
    need_simulator(needs_vulkan);
    const Context context = context_after_restart("");
    const SimulatedSemaphore theirs(0);
    const auto semaphore = ok(TimelineSemaphore::import_fd(context, theirs.exported()));
    const auto check_status = [](const Result<void> &refused, CUresult status) {
        REQUIRE_FALSE(refused);
        CHECK(refused.error().kind() == ErrorKind::status);
        CHECK(refused.error().status() == status);
    };
    {
        const Context other = ok(Context::create(ok(Device::get(0))));
        const Stream foreign = ok(Stream::create(other));
        for (const auto &refused : {semaphore.signal(foreign, 1), semaphore.wait(foreign, 0)}) {
            check_refused(refused, "use a stream of context 0x", ErrorKind::wrong_context);
            CHECK(refused.error().status() == CUDA_ERROR_INVALID_HANDLE);
        }
        const Recorder recorder;
        seen.answer = CUDA_ERROR_TIMEOUT;
        check_status(semaphore.wait(foreign, 0), CUDA_ERROR_TIMEOUT);
    }
    const Recorder recorder;
    seen.answer = CUDA_ERROR_INVALID_HANDLE;
    const Stream own = ok(Stream::create(context));
    check_status(semaphore.signal(own, 1), CUDA_ERROR_INVALID_HANDLE);
    // One semaphore of another context in a batch.
    const auto foreign =
        BinarySemaphore::borrow(Context::borrow(reinterpret_cast<CUcontext>(16)), number(48));
    check_refused(signal_semaphores(own, {semaphore.signaling(1), foreign.signaling()}),
                  "use a stream of context 0x", ErrorKind::wrong_context);
}

#endif
