// Signals and waits of semaphores: what CUDA is told, and what it answers.
#include "harness/external.hpp"

#include "../../src/api/interop/external_descriptions.hpp"

#include <cstdint>
#include <cstring>

#ifndef _WIN32
#include "harness/their_semaphore.hpp"
#endif

using namespace api_test;
using namespace cushim;

namespace {

CUexternalSemaphore number(std::uintptr_t value) {
    return reinterpret_cast<CUexternalSemaphore>(value);
}

// What the driver would have got.
struct Seen {
    std::vector<CUexternalSemaphore> semaphores;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits;
    CUstream stream = nullptr;
    CUresult answer = CUDA_SUCCESS;
};
Seen seen;

// As long as it lives, signals and waits are written down, and no more.
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

// Whether all of it but these words is zero.
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

TEST_CASE("each kind of semaphore passes on what is its own", "[X7][X8][X9][X11]") {
    const Context context = Context::borrow(reinterpret_cast<CUcontext>(16));
    const Stream stream = Stream::borrow(reinterpret_cast<CUstream>(32));
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

TEST_CASE("a batch is one call, of all kinds, in its order", "[X8][X9]") {
    const Context context = Context::borrow(reinterpret_cast<CUcontext>(16));
    const Stream stream = Stream::borrow(reinterpret_cast<CUstream>(32));
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

    // The last that fit on the stack, and the first that do not.
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

TEST_CASE("a wait that takes too long says so", "[X9]") {
    const Context context = Context::borrow(reinterpret_cast<CUcontext>(16));
    const auto mutex = KeyedMutex::borrow(context, number(48));
    const Recorder recorder;
    seen.answer = CUDA_ERROR_TIMEOUT;
    const Error waited = error_of(mutex.wait(Stream::legacy(), 1, 10));
    CHECK(waited.kind() == ErrorKind::status);
    CHECK(waited.status() == CUDA_ERROR_TIMEOUT);
    CHECK(std::string(waited.entry_point()) == "cuWaitExternalSemaphoresAsync");
}

TEST_CASE("empty semaphores and streams do not reach the driver", "[X8][X9]") {
    const Context context = Context::borrow(reinterpret_cast<CUcontext>(16));
    const Stream stream = Stream::legacy();
    const Recorder recorder;
    seen.answer = CUDA_ERROR_UNKNOWN;
    constexpr auto invalid = ErrorKind::invalid_argument;
    check_refused(BinarySemaphore().signal(stream), invalid, "semaphore is empty");
    check_refused(TimelineSemaphore().wait(stream, 1), invalid, "semaphore is empty");
    check_refused(KeyedMutex().wait(stream, 1), invalid, "semaphore is empty");
    int fence = 0;
    check_refused(NvSciSemaphore().signal(stream, &fence), invalid, "semaphore is empty");
    const auto nvsci = NvSciSemaphore::borrow(context, number(48));
    check_refused(nvsci.wait(stream, nullptr), invalid, "NvSciSyncFence is null");
    const auto timeline = TimelineSemaphore::borrow(context, number(48));
    check_refused(timeline.signal(Stream(), 1), invalid, "stream is empty");
    check_refused(wait_semaphores(stream, {timeline.waiting(1), BinarySemaphore().waiting()}),
                  invalid, "semaphore is empty");
    CHECK(seen.semaphores.empty());
}

#ifndef _WIN32

TEST_CASE("a stream of another context is told apart from a wrong handle", "[X8][X9]") {
    need_simulator(needs_vulkan);
    const Context context = context_after_restart("");
    const TheirSemaphore theirs(0);
    const auto semaphore = TimelineSemaphore::import_fd(context, theirs.exported()).value();
    const auto check_status = [](const Result<void> &refused, CUresult status) {
        REQUIRE_FALSE(refused);
        CHECK(refused.error().kind() == ErrorKind::status);
        CHECK(refused.error().status() == status);
    };
    {
        const Context other = Context::create(Device::get(0).value()).value();
        const Stream foreign = Stream::create(other).value();
        for (const auto &refused : {semaphore.signal(foreign, 1), semaphore.wait(foreign, 0)}) {
            check_refused(refused, ErrorKind::wrong_context, "another context");
            CHECK(refused.error().status() == CUDA_ERROR_INVALID_HANDLE);
        }
        const Recorder recorder;
        seen.answer = CUDA_ERROR_TIMEOUT;
        check_status(semaphore.wait(foreign, 0), CUDA_ERROR_TIMEOUT);
    }
    const Recorder recorder;
    seen.answer = CUDA_ERROR_INVALID_HANDLE;
    const Stream own = Stream::create(context).value();
    check_status(semaphore.signal(own, 1), CUDA_ERROR_INVALID_HANDLE);
    // One of a batch is enough.
    const auto foreign =
        BinarySemaphore::borrow(Context::borrow(reinterpret_cast<CUcontext>(16)), number(48));
    check_refused(signal_semaphores(own, {semaphore.signaling(1), foreign.signaling()}),
                  ErrorKind::wrong_context, "another context");
}

#endif
