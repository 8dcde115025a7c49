// What a wrapper costs beyond the calls that it makes, on a real GPU: at most 2 % or 100 ns, whichever is
// larger.
//
// The same work is done by raw table calls and by wrappers, in short blocks by turns. Two blocks that
// follow each other make a pair, and what the wrapper took more in it is one measurement: whatever slows
// the machine down for longer than a pair slows both. The order within a pair changes from one to the
// next, so that neither side profits from being second. What is told and checked is the median over a
// number of pairs that is fixed beforehand: half of them may be disturbed by other work of the host, and
// no lucky one counts more than its neighbours.
#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <vector>

using namespace cushim;

namespace {

constexpr int pairs = 1000;

// Nanoseconds for one of `count` runs; `between` ends what was queued, and is not measured.
template <class Work, class Between>
double time_of(int count, Work &work, Between &between) {
    const auto begin = std::chrono::steady_clock::now();
    for (int index = 0; index < count; ++index) {
        work();
    }
    const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - begin;
    between();
    return passed.count() / count;
}

// The value that this part of them does not exceed.
double quantile(std::vector<double> values, double part) {
    const auto nth =
        values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

template <class Raw, class Wrapped, class Between>
void compare(const char *name, int count, Raw raw, Wrapped wrapped, Between between) {
    std::vector<double> raw_times, more;
    for (int pair = 0; pair < pairs; ++pair) {
        double raw_time = 0, wrapped_time = 0;
        if (pair % 2 == 0) {
            raw_time = time_of(count, raw, between);
            wrapped_time = time_of(count, wrapped, between);
        } else {
            wrapped_time = time_of(count, wrapped, between);
            raw_time = time_of(count, raw, between);
        }
        raw_times.push_back(raw_time);
        more.push_back(wrapped_time - raw_time);
    }
    const double usual = quantile(raw_times, 0.5);
    const double median = quantile(more, 0.5);
    std::printf("%-28s raw %10.1f ns   wrapper %+8.1f ns, %+.2f %%   (half of the pairs: %+.1f to "
                "%+.1f ns)\n",
                name, usual, median, median / usual * 100, quantile(more, 0.25),
                quantile(more, 0.75));
    CHECK(median <= std::max(100.0, usual * 0.02));
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
        "event create, destroy", 100,
        [] {
            CUevent event = nullptr;
            ok(driver().cuEventCreate(&event, CU_EVENT_DEFAULT));
            ok(driver().cuEventDestroy(event));
        },
        [&] { (void)ok(Event::create(gpu.context)); });

    compare(
        "stream create, destroy", 10,
        [] {
            CUstream made = nullptr;
            ok(driver().cuStreamCreateWithPriority(&made, CU_STREAM_DEFAULT, 0));
            ok(driver().cuStreamDestroy(made));
        },
        [&] { (void)ok(Stream::create(gpu.context)); });

    compare(
        "buffer allocate, free", 20,
        [] {
            CUdeviceptr address = 0;
            ok(driver().cuMemAlloc(&address, 1 << 20));
            ok(driver().cuMemFree(address));
        },
        [&] { (void)ok(DeviceBuffer<char>::allocate(gpu.context, 1 << 20)); });

    compare(
        "the same, stream-ordered", 50,
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
        "mapped range, map, unmap", 5,
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
        "copy, queued", 50,
        [&] { ok(driver().cuMemcpyAsync(to.native(), from.native(), 4000, stream)); },
        [&] { ok(copy(gpu.stream, to.span(), from.span())); }, [&] { gpu.wait(); });

    const auto module = ok(Module::load(gpu.context, ptx));
    const auto kernel = ok(module.kernel<void(int *, unsigned int)>("nothing"));
    const CUfunction function = kernel.native();
    compare(
        "launch", 50,
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
