// What a wrapper costs beyond the calls that it makes, on a real GPU: the same work by raw table calls and by
// wrappers in turns, the best of many rounds of each. At most 2 % or 100 ns more, whichever is larger.
#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

using namespace cushim;

namespace {

constexpr int rounds = 40;

// Nanoseconds for one of `count` runs.
template <class Work>
double time_of(int count, Work &work) {
    const auto begin = std::chrono::steady_clock::now();
    for (int index = 0; index < count; ++index) {
        work();
    }
    const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - begin;
    return passed.count() / count;
}

// In turns, so that what disturbs one disturbs the other; `between` ends what was queued.
template <class Raw, class Wrapped, class Between>
void compare(const char *name, int count, Raw raw, Wrapped wrapped, Between between) {
    double best_raw = std::numeric_limits<double>::max();
    double best_wrapped = best_raw;
    for (int round = 0; round < rounds; ++round) {
        best_raw = std::min(best_raw, time_of(count, raw));
        between();
        best_wrapped = std::min(best_wrapped, time_of(count, wrapped));
        between();
    }
    std::printf("%-28s raw %10.1f ns   wrapper %10.1f ns   +%.1f ns, %+.2f %%\n", name, best_raw,
                best_wrapped, best_wrapped - best_raw, (best_wrapped / best_raw - 1) * 100);
    CHECK(best_wrapped - best_raw <= std::max(100.0, best_raw * 0.02));
}
template <class Raw, class Wrapped>
void compare(const char *name, int count, Raw raw, Wrapped wrapped) {
    compare(name, count, raw, wrapped, [] {});
}

void ok(CUresult status) {
    if (status != CUDA_SUCCESS) {
        FAIL("status " << status);
    }
}
template <class T>
T ok(Result<T> result) {
    if (!result) {
        FAIL(result.error().message());
    }
    return std::move(*result);
}
void ok(const Result<void> &result) {
    if (!result) {
        FAIL(result.error().message());
    }
}

// Raw calls need it current; wrappers are measured with it current, as most programs have it.
struct Gpu {
    Device device = ok(Device::get(0));
    Context context = ok(Context::primary(device));
    ContextScope scope = ok(context.enter());
    Stream stream = ok(Stream::create(context));

    void wait() const { ok(stream.synchronize()); }
};

constexpr const char *ptx = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u32 b) { ret; }
)";

} // namespace

TEST_CASE("what wrappers cost") {
    const Gpu gpu;
    const CUstream stream = gpu.stream.native();

    compare(
        "event create, destroy", 1000,
        [] {
            CUevent event = nullptr;
            ok(driver().cuEventCreate(&event, CU_EVENT_DEFAULT));
            ok(driver().cuEventDestroy(event));
        },
        [&] { (void)ok(Event::create(gpu.context)); });

    compare(
        "stream create, destroy", 100,
        [] {
            CUstream made = nullptr;
            ok(driver().cuStreamCreateWithPriority(&made, CU_STREAM_DEFAULT, 0));
            ok(driver().cuStreamDestroy(made));
        },
        [&] { (void)ok(Stream::create(gpu.context)); });

    compare(
        "buffer allocate, free", 200,
        [] {
            CUdeviceptr address = 0;
            ok(driver().cuMemAlloc(&address, 1 << 20));
            ok(driver().cuMemFree(address));
        },
        [&] { (void)ok(DeviceBuffer<char>::allocate(gpu.context, 1 << 20)); });

    compare(
        "the same, stream-ordered", 200,
        [&] {
            CUdeviceptr address = 0;
            ok(driver().cuMemAllocAsync(&address, 1 << 20, stream));
            ok(driver().cuMemFreeAsync(address, stream));
        },
        [&] { (void)ok(DeviceBuffer<char>::allocate_async(gpu.stream, 1 << 20)); },
        [&] { gpu.wait(); });
}

TEST_CASE("what a mapped range costs") {
    const Gpu gpu;
    constexpr std::size_t size = 2 << 20;
    const AddressRange range = ok(AddressRange::reserve(gpu.device, size));
    const PhysicalMemory memory = ok(PhysicalMemory::create(gpu.device, size));
    const AccessGrant grant(gpu.device, AccessFlags::read_write);
    compare(
        "mapped range, map, unmap", 50,
        [&] {
            ok(driver().cuMemMap(range.native(), size, 0, memory.native(), 0));
            ok(driver().cuMemSetAccess(range.native(), size, &grant.native(), 1));
            ok(driver().cuMemUnmap(range.native(), size));
        },
        [&] { (void)ok(MappedRange::map(range, 0, memory, grant)); });
}

TEST_CASE("what queueing by wrappers costs") {
    const Gpu gpu;
    const CUstream stream = gpu.stream.native();
    const auto from = ok(DeviceBuffer<int>::allocate(gpu.context, 1000));
    const auto to = ok(DeviceBuffer<int>::allocate(gpu.context, 1000));

    compare(
        "copy, queued", 200,
        [&] { ok(driver().cuMemcpyAsync(to.native(), from.native(), 4000, stream)); },
        [&] { ok(copy(gpu.stream, to.span(), from.span())); }, [&] { gpu.wait(); });

    const auto module = ok(Module::load(gpu.context, ptx));
    const auto kernel = ok(module.kernel<void(int *, unsigned int)>("nothing"));
    const CUfunction function = kernel.native();
    compare(
        "launch", 200,
        [&] {
            int *address = to.data();
            unsigned int number = 1;
            void *arguments[] = {&address, &number};
            ok(driver().cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
        },
        [&] { ok(kernel.launch(gpu.stream, {.grid = 1, .block = 32}, to, 1u)); },
        [&] { gpu.wait(); });
}

// 1 GiB to 2 GiB in steps of 64 MiB: by growing in place, and by allocating anew, copying, and freeing.
TEST_CASE("growing in place against copying") {
    const Gpu gpu;
    constexpr std::size_t mebi = 1 << 20;
    constexpr std::size_t first = 1024 * mebi, last = 2048 * mebi, step = 64 * mebi;
    using Clock = std::chrono::steady_clock;
    double best_growing = std::numeric_limits<double>::max();
    double best_copying = best_growing;
    for (int round = 0; round < 5; ++round) {
        auto growing = ok(GrowableBuffer<char>::create(gpu.device, last));
        ok(growing.resize(first));
        auto begin = Clock::now();
        for (std::size_t size = first + step; size <= last; size += step) {
            ok(growing.resize(size));
        }
        best_growing = std::min(
            best_growing, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
        growing.reset();

        auto copied = ok(DeviceBuffer<char>::allocate(gpu.context, first));
        begin = Clock::now();
        for (std::size_t size = first + step; size <= last; size += step) {
            auto larger = ok(DeviceBuffer<char>::allocate(gpu.context, size));
            const auto head = ok(larger.span().subspan(0, copied.size()));
            ok(copy(gpu.stream, head, copied.span()));
            gpu.wait();
            copied = std::move(larger);
        }
        best_copying = std::min(
            best_copying, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
    std::printf("growing 1 GiB to 2 GiB in 16 steps: in place %.2f ms, by copying %.2f ms, ratio "
                "%.1f\n",
                best_growing, best_copying, best_copying / best_growing);
    CHECK(best_growing < best_copying);
}
