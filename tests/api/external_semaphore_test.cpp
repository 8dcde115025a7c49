// Semaphores of other APIs. The rows of the seed's checklist that these cases show stand in their tags.
#include "harness/scenario.hpp"
#include "harness/simulator.hpp"

#include <cushim/cushim.hpp>

#include "../../src/api/external_descriptions.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#ifdef _WIN32
#include <windows.h>
#else
#include <sys/mman.h>

#include "exported_memory.hpp"
#endif

using namespace cushim;

namespace {

Context primary() {
    return Device::get(0).and_then(&Context::primary).value();
}

template <class T>
void check_refused(const Result<T> &result, ErrorKind kind, const std::string &part) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().kind() == kind);
    INFO(result.error().message());
    CHECK(std::string(result.error().message()).find(part) != std::string::npos);
}

CUexternalSemaphore number(std::uintptr_t value) {
    return reinterpret_cast<CUexternalSemaphore>(value);
}

void *handle_of(unsigned long long value) {
    return reinterpret_cast<void *>(value);
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

// Word `index` of eight bytes, of any structure.
template <class T>
unsigned long long word(const T &structure, std::size_t index) {
    unsigned long long value = 0;
    std::memcpy(&value, reinterpret_cast<const char *>(&structure) + 8 * index, 8);
    return value;
}

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

// --- what the driver gets

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

    // More than fit on the stack.
    std::vector<SemaphoreWait> waits;
    for (unsigned int i = 0; i < 100; ++i) {
        waits.push_back(timeline.waiting(i));
    }
    CHECK(wait_semaphores(stream, waits));
    REQUIRE(seen.waits.size() == 100);
    CHECK(seen.waits[99].params.fence.value == 99);
    CHECK(seen.semaphores[99] == number(2));

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
    const auto waited = mutex.wait(Stream::legacy(), 1, 10);
    REQUIRE_FALSE(waited);
    CHECK(waited.error().kind() == ErrorKind::status);
    CHECK(waited.error().status() == CUDA_ERROR_TIMEOUT);
    CHECK(std::string(waited.error().entry_point()) == "cuWaitExternalSemaphoresAsync");
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

// --- what is imported

namespace {

CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC described{};

CUresult describe_only(CUexternalSemaphore *, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *given) {
    described = *given;
    return CUDA_ERROR_UNKNOWN;
}

} // namespace

TEST_CASE("every kind of semaphore is imported as its own, where there is such a thing",
          "[X7][X11][X12]") {
    api_test::restart("");
    const Context context = primary();
    const ScopedOverride<entry::cuImportExternalSemaphore> import(describe_only);
    const auto nt = Win32Handle::handle(handle_of(16));
    struct Attempt {
        ErrorKind kind;
        int status;
        int type; // what the driver got; 0: nothing
    };
    const auto attempt = [](const auto &result) {
        REQUIRE_FALSE(result.has_value());
        const Attempt made{result.error().kind(), result.error().status(),
                           static_cast<int>(described.type)};
        described = {};
        return made;
    };
    const Attempt of_windows[] = {
        attempt(BinarySemaphore::import_win32(context, nt)),
        attempt(BinarySemaphore::import_win32_kmt(context, handle_of(16))),
        attempt(TimelineSemaphore::import_d3d12_fence(context, nt)),
        attempt(TimelineSemaphore::import_d3d11_fence(context, nt)),
        attempt(KeyedMutex::import_d3d11(context, nt)),
        attempt(KeyedMutex::import_d3d11_kmt(context, handle_of(16))),
        attempt(TimelineSemaphore::import_win32(context, nt)),
    };
#ifdef _WIN32
    UniqueFd some_fd(0);
#else
    UniqueFd some_fd = api_test::null_device();
#endif
    const Attempt of_linux[] = {
        attempt(BinarySemaphore::import_fd(context, std::move(some_fd))),
        attempt(TimelineSemaphore::import_fd(context, std::move(some_fd))),
    };
#ifdef _WIN32
    const bool windows = true;
#else
    const bool windows = false;
    CHECK(some_fd);
#endif
    const int types_of_windows[] = {2, 3, 4, 5, 7, 8, 10};
    const int types_of_linux[] = {1, 9};
    const auto check = [](const Attempt &made, bool possible, int type) {
        CHECK(made.kind == (possible ? ErrorKind::status : ErrorKind::unsupported_platform));
        CHECK(made.status == (possible ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS));
        CHECK(made.type == (possible ? type : 0));
    };
    for (std::size_t i = 0; i < std::size(of_windows); ++i) {
        check(of_windows[i], windows, types_of_windows[i]);
    }
    for (std::size_t i = 0; i < std::size(of_linux); ++i) {
        check(of_linux[i], !windows, types_of_linux[i]);
    }
    int object = 0;
    CHECK(attempt(NvSciSemaphore::import_from(context, &object)).type ==
          CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC);
    check_refused(NvSciSemaphore::import_from(context, nullptr), ErrorKind::invalid_argument,
                  "null");
    check_refused(NvSciSemaphore::import_from(Context(), &object), ErrorKind::invalid_argument,
                  "context");
    check_refused(BinarySemaphore::adopt(context, nullptr), ErrorKind::invalid_argument, "null");
}

#ifdef _WIN32

SCENARIO_TEST("a semaphore of Windows is imported, and its handle stays the caller's",
              "[X6][X7][X8][X9]") {
    if (api_test::simulator() == nullptr) {
        trial.skip("a semaphore of another API needs such an API");
    }
    CUSHIM_TRY(const Context context, trial.context());
    const std::intptr_t number = api_test::simulator()->make_semaphore_fd(0);
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

#else

namespace {

constexpr const char *needs_vulkan =
    "a semaphore of another API needs such an API: external_vulkan_test.cpp has one";

// The other API's side of a semaphore, as the simulator has it.
class Theirs {
  public:
    explicit Theirs(std::uint64_t initial)
        : fd_(api_test::simulator()->make_semaphore_fd(initial)),
          state_(static_cast<cushim_sim_semaphore *>(
              mmap(nullptr, sizeof *state_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0))) {
        REQUIRE(state_ != MAP_FAILED);
    }
    ~Theirs() { munmap(state_, sizeof *state_); }
    Theirs(const Theirs &) = delete;
    Theirs &operator=(const Theirs &) = delete;

    UniqueFd exported() const { return fd_.duplicate().value(); }
    std::uint64_t value() const { return std::atomic_ref(state_->value).load(); }
    void set(std::uint64_t value) { std::atomic_ref(state_->value).store(value); }

  private:
    UniqueFd fd_;
    cushim_sim_semaphore *state_;
};

void need_simulator(const api_test::Trial &trial) {
    if (api_test::simulator() == nullptr) {
        trial.skip(needs_vulkan);
    }
}

Result<unsigned int> first_of(const Context &context, DeviceSpan<unsigned int> span) {
    std::vector<unsigned int> values(span.size());
    CUSHIM_TRY_VOID(copy(context, std::span(values), span));
    return values.front();
}

} // namespace

SCENARIO_TEST("a stream waits for what another one signals", "[X6][X8][X9]") {
    need_simulator(trial);
    const Theirs theirs(0);
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
    CUSHIM_TRY(const unsigned int value, first_of(context, buffer.span()));
    CHECK(value == 8);
    CHECK(theirs.value() == 5);
    return {};
}

SCENARIO_TEST("each signal of a binary semaphore lets one wait through", "[X7][X8][X9]") {
    need_simulator(trial);
    const Theirs theirs(0);
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
    const Theirs one(0), two(0);
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
    Theirs theirs(0);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(auto exported, api_test::export_memory(1));
    const std::size_t size = exported.size();
    CUSHIM_TRY(const auto memory, ExternalMemory::import_from(context, exported.source(), size));
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
    CUSHIM_TRY(const unsigned int last, first_of(context, words));
    CHECK(last == 3);
    return {};
}

SCENARIO_TEST("a semaphore is shared, given up and taken over", "[X6][X10]") {
    need_simulator(trial);
    const Theirs theirs(0);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(auto first, TimelineSemaphore::import_fd(context, theirs.exported()));
    TimelineSemaphore second = first.share();
    CHECK(second.native() == first.native());
    CUSHIM_TRY_VOID(first.close());
    CHECK_FALSE(first);
    CHECK(first.native() == nullptr);
    const CUexternalSemaphore native = second.release();
    CHECK_FALSE(second);
    auto adopted = TimelineSemaphore::adopt(context, native);
    REQUIRE(adopted);
    CHECK(TimelineSemaphore::borrow(context, native).native() == native);
    return adopted->close();
}

SCENARIO_TEST("an import takes its descriptor, if it succeeds", "[X7]") {
    need_simulator(trial);
    CUSHIM_TRY(const Context context, trial.context());
    UniqueFd fd(api_test::simulator()->make_semaphore_fd(0));
    const int number = fd.get();
    const std::size_t before = sim_test::open_descriptors();
    auto semaphore = BinarySemaphore::import_fd(context, std::move(fd));
    CHECK(static_cast<bool>(fd) != semaphore.has_value());
    CHECK(sim_test::is_open(number) != semaphore.has_value());
    if (!semaphore) {
        CHECK(sim_test::open_descriptors() == before);
    }
    CUSHIM_TRY_VOID(semaphore);
    return semaphore->close();
}

TEST_CASE("a wrong descriptor is left as it is", "[X7]") {
    api_test::restart("");
    const Context context = primary();
    UniqueFd wrong = api_test::null_device();
    const int number = wrong.get();
    const std::size_t before = sim_test::open_descriptors();
    for (const auto &status :
         {BinarySemaphore::import_fd(context, std::move(wrong)).error().status(),
          TimelineSemaphore::import_fd(context, std::move(wrong)).error().status()}) {
        CHECK(status == CUDA_ERROR_UNKNOWN);
    }
    CHECK(wrong.get() == number);
    CHECK(sim_test::is_open(number));
    if (api_test::simulator() != nullptr) { // a real driver may keep some of its own
        CHECK(sim_test::open_descriptors() == before);
    }
}

TEST_CASE("what is no descriptor is refused", "[X7]") {
    api_test::restart("");
    const Context context = primary();
    const int closed = api_test::null_device().get();
    UniqueFd stale(closed);
    check_refused(BinarySemaphore::import_fd(context, UniqueFd()), ErrorKind::invalid_argument,
                  "-1");
    check_refused(TimelineSemaphore::import_fd(context, std::move(stale)),
                  ErrorKind::invalid_argument, std::to_string(closed));
    CHECK(stale.release() == closed);
}

TEST_CASE("a stream of another context is told apart from a wrong handle", "[X8][X9]") {
    if (api_test::simulator() == nullptr) {
        SKIP(needs_vulkan);
    }
    api_test::restart("");
    const Context context = primary();
    const Theirs theirs(0);
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
}

TEST_CASE("a device without timelines says so", "[X12]") {
    if (api_test::simulator() == nullptr) {
        SKIP("the device of this machine has what it has");
    }
    api_test::restart(
        "attribute.114=0"); // CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED
    const Context context = primary();
    UniqueFd fd(api_test::simulator()->make_semaphore_fd(0));
    const auto timeline = TimelineSemaphore::import_fd(context, std::move(fd));
    REQUIRE_FALSE(timeline);
    CHECK(timeline.error().kind() == ErrorKind::not_supported_by_device);
    CHECK(fd);
    CHECK(BinarySemaphore::import_fd(context, std::move(fd)));
    int object = 0;
    const auto nvsci = NvSciSemaphore::import_from(context, &object);
    REQUIRE_FALSE(nvsci);
    CHECK(nvsci.error().kind() == ErrorKind::not_supported_by_device);
}

TEST_CASE("closing a semaphore says what failed", "[X10]") {
    if (api_test::simulator() == nullptr) {
        SKIP(needs_vulkan);
    }
    api_test::restart("");
    const Context context = primary();
    const Theirs theirs(0);
    auto semaphore = BinarySemaphore::import_fd(context, theirs.exported()).value();
    const CUexternalSemaphore native = semaphore.native();
    {
        const ScopedOverride<entry::cuDestroyExternalSemaphore> fails(
            [](CUexternalSemaphore) { return CUDA_ERROR_INVALID_HANDLE; });
        const auto closed = semaphore.close();
        REQUIRE_FALSE(closed);
        CHECK(closed.error().status() == CUDA_ERROR_INVALID_HANDLE);
        CHECK_FALSE(semaphore);
    }
    CHECK(driver().cuDestroyExternalSemaphore(native) == CUDA_SUCCESS);
}

// --- two processes

TEST_CASE("child takes turns with its parent", "[.]") {
    api_test::restart("");
    auto parent = sim_test::Channel::of_parent();
    const Context context = primary();
    const auto frame = TimelineSemaphore::import_fd(context, UniqueFd(parent.receive_fd())).value();
    const Stream stream = Stream::create(context).value();
    for (unsigned int n = 1; n <= 10; ++n) {
        frame.wait(stream, 2 * n - 1).value();
        frame.signal(stream, 2 * n).value();
        stream.synchronize().value();
    }
}

TEST_CASE("two processes take turns by a timeline", "[X13][processes]") {
    if (api_test::simulator() == nullptr) {
        SKIP(needs_vulkan);
    }
    api_test::restart("");
    const Context context = primary();
    const Theirs theirs(0);
    sim_test::Child child("child takes turns with its parent");
    const UniqueFd exported = theirs.exported();
    child.channel().send_fd(exported.get());
    const auto frame = TimelineSemaphore::import_fd(context, theirs.exported()).value();
    const Stream stream = Stream::create(context).value();
    for (unsigned int n = 1; n <= 10; ++n) {
        frame.signal(stream, 2 * n - 1).value();
        frame.wait(stream, 2 * n).value();
        stream.synchronize().value();
    }
    CHECK(theirs.value() == 20);
    CHECK(child.passed());
}

#endif
