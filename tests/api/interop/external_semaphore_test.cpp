// Semaphores of other APIs, imported and used in streams. The rows of the checklist that a case
// shows stand in its tags.
#include "harness/external.hpp"
#include "harness/spied_call.hpp"

#include <memory>
#include <utility>

#ifdef _WIN32
#include <windows.h>
#else
#include "harness/exported_memory.hpp"
#include "harness/their_semaphore.hpp"
#endif

using namespace api_test;
using namespace cushim;

#ifdef _WIN32

SCENARIO_TEST("a semaphore of Windows is imported, and its handle stays the caller's",
              "[X7][X8][X9]") {
    if (simulator() == nullptr) {
        trial.skip("needs a semaphore of another API");
    }
    CUSHIM_TRY(const Context context, trial.context());
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

TEST_CASE("a device without timelines says so of a handle of Windows", "[X7][X12]") {
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

SCENARIO_TEST("a stream waits for what another one signals", "[X8][X9]") {
    need_simulator(trial);
    const TheirSemaphore theirs(0);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const auto semaphore, TimelineSemaphore::import_fd(context, theirs.exported()));
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto buffer, DeviceBuffer<unsigned int>::allocate(context, 100));
    CUSHIM_TRY_VOID(fill(first, buffer.span(), 7));
    CUSHIM_TRY_VOID(semaphore.signal(first, 5));
    CUSHIM_TRY_VOID(semaphore.wait(second, 5));
    CUSHIM_TRY_VOID(fill(second, buffer.span(), 8));
    CUSHIM_TRY_VOID(second.synchronize());
    CHECK_GIVES(first_of(context, buffer.span()), 8);
    CHECK(theirs.value() == 5);
    return {};
}

SCENARIO_TEST("each signal of a binary semaphore lets one wait through", "[X7][X8][X9]") {
    need_simulator(trial);
    const TheirSemaphore theirs(0);
    CUSHIM_TRY(const Context context, trial.context());
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

SCENARIO_TEST("a batch signals and waits for all of it", "[X8][X9]") {
    need_simulator(trial);
    const TheirSemaphore one(0), two(0);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const auto timeline, TimelineSemaphore::import_fd(context, one.exported()));
    CUSHIM_TRY(const auto binary, BinarySemaphore::import_fd(context, two.exported()));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY_VOID(signal_semaphores(stream, {timeline.signaling(3), binary.signaling()}));
    CUSHIM_TRY_VOID(wait_semaphores(stream, {binary.waiting(), timeline.waiting(2)}));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(one.value() == 3);
    CHECK(two.value() == 0);
    return {};
}

// The contract of the whole: the other API draws, this side computes on what it drew, by turns.
SCENARIO_TEST("two APIs take turns on one memory", "[X13]") {
    need_simulator(trial);
    TheirSemaphore theirs(0);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(auto exported, export_memory(1));
    CUSHIM_TRY(const auto memory, import_whole(context, exported));
    CUSHIM_TRY(const auto buffer, memory.map_buffer(0, 1024));
    CUSHIM_TRY(const auto words, buffer.as<unsigned int>());
    CUSHIM_TRY(const auto frame, TimelineSemaphore::import_fd(context, theirs.exported()));
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    for (unsigned int n = 1; n <= 3; ++n) {
        theirs.set(2 * n - 1); // the other side has drawn
        CUSHIM_TRY_VOID(frame.wait(stream, 2 * n - 1));
        CUSHIM_TRY_VOID(fill(stream, words, n));
        CUSHIM_TRY_VOID(frame.signal(stream, 2 * n));
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(theirs.value() == 2 * n);
    }
    CHECK_GIVES(first_of(context, words), 3);
    return {};
}

SCENARIO_TEST("a semaphore is shared, given up and taken over", "[X6][X10]") {
    need_simulator(trial);
    const TheirSemaphore theirs(0);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(auto first, TimelineSemaphore::import_fd(context, theirs.exported()));
    TimelineSemaphore second = first.share();
    CHECK(second.native() == first.native());
    CUSHIM_TRY_VOID(first.close());
    CHECK_FALSE(first);
    CHECK(first.native() == nullptr);
    const CUexternalSemaphore native = second.release();
    CHECK_FALSE(second);
    auto adopted = required(TimelineSemaphore::adopt(context, native));
    CHECK(TimelineSemaphore::borrow(context, native).native() == native);
    return adopted.close();
}

TEST_CASE("a device without timelines says so", "[X12]") {
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
    int object = 0;
    CHECK(error_of(NvSciSemaphore::import_from(context, &object)).kind() ==
          ErrorKind::not_supported_by_device);
}

TEST_CASE("closing a semaphore says what failed", "[X10]") {
    need_simulator(needs_vulkan);
    const Context context = context_after_restart("");
    const TheirSemaphore theirs(0);
    auto semaphore = BinarySemaphore::import_fd(context, theirs.exported()).value();
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
