// The cost of wrappers beyond the calls that they make, on a real GPU: at most 2 % or 100 ns per
// operation, 5 % or 100 ns for creating and destroying an object.
#include "cost.hpp"
#include "figure.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/module.hpp>

#include <limits>

#include "../support/nothing_ptx.hpp"

using namespace cushim;
using cost::compare;
using cost::compare_lives;
using cost::Gpu;
using support::ok;

TEST_CASE("creating and destroying by wrappers costs at most 5 % or 100 ns more") {
    const Gpu gpu;
    const CUstream stream = gpu.stream.native();
    constexpr std::size_t mebi = 1 << 20;

    compare_lives(
        {"event, create", "event, destroy", "event, create and destroy"}, 100,
        [] {
            CUevent event = nullptr;
            ok(driver().cuEventCreate(&event, CU_EVENT_DEFAULT));
            return event;
        },
        [](CUevent event) { ok(driver().cuEventDestroy(event)); },
        [&] { return ok(Event::create(gpu.context)); });

    compare_lives(
        {"stream, create", "stream, destroy", "stream, create and destroy"}, 10,
        [] {
            CUstream made = nullptr;
            ok(driver().cuStreamCreateWithPriority(&made, CU_STREAM_DEFAULT, 0));
            return made;
        },
        [](CUstream made) { ok(driver().cuStreamDestroy(made)); },
        [&] { return ok(Stream::create(gpu.context)); });

    compare_lives(
        {"buffer, allocate", "buffer, free", "buffer, allocate and free"}, 20,
        [] {
            CUdeviceptr address = 0;
            ok(driver().cuMemAlloc(&address, mebi));
            return address;
        },
        [](CUdeviceptr address) { ok(driver().cuMemFree(address)); },
        [&] { return ok(DeviceBuffer<char>::allocate(gpu.context, mebi)); });

    // Compares allocations that reuse freed memory of the pool. The synchronisation between two
    // runs does not return that memory to the system.
    constexpr std::size_t live = 50;
    const MemoryPool pool = ok(MemoryPool::current_of(gpu.device));
    ok(pool.set_release_threshold(live * mebi));
    compare_lives(
        {"stream-ordered buffer, allocate", "stream-ordered buffer, free",
         "stream-ordered buffer, allocate and free"},
        live,
        [&] {
            CUdeviceptr address = 0;
            ok(driver().cuMemAllocAsync(&address, mebi, stream));
            return address;
        },
        [&](CUdeviceptr address) { ok(driver().cuMemFreeAsync(address, stream)); },
        [&] { return ok(DeviceBuffer<char>::allocate_async(gpu.stream, mebi)); },
        [&] { gpu.wait(); });
}

TEST_CASE("creating and destroying graphs costs at most 5 % or 100 ns more, small executable "
          "graphs 150 ns") {
    const Gpu gpu;
    compare_lives(
        {"graph, create", "graph, destroy", "graph, create and destroy"}, 100,
        [] {
            CUgraph graph = nullptr;
            ok(driver().cuGraphCreate(&graph, 0));
            return graph;
        },
        [](CUgraph graph) { ok(driver().cuGraphDestroy(graph)); },
        [&] { return ok(Graph::create(gpu.context)); });

    Graph graph = ok(Graph::create(gpu.context));
    ok(graph.add_empty_node({}));
    compare_lives(
        {"graph, instantiate", "executable graph, destroy", "graph, instantiate and destroy"}, 20,
        [&] {
            CUgraphExec exec = nullptr;
            ok(driver().cuGraphInstantiateWithFlags(&exec, graph.native(), 0));
            return exec;
        },
        [](CUgraphExec exec) { ok(driver().cuGraphExecDestroy(exec)); },
        [&] { return ok(graph.instantiate()); }, cost::of_small_exec);
}

TEST_CASE("mapping by wrappers costs at most 5 % or 100 ns more") {
    const Gpu gpu;
    constexpr std::size_t size = 2 << 20, count = 5;
    const AddressRange range = ok(AddressRange::reserve(gpu.device, size * count));
    const PhysicalMemory memory = ok(PhysicalMemory::create(gpu.device, size));
    const AccessGrant grant(gpu.device, AccessFlags::read_write);
    std::size_t next = 0;
    const auto next_offset = [&] { return next++ % count * size; };
    compare_lives(
        {"mapped range, map", "mapped range, unmap", "mapped range, map and unmap"}, count,
        [&] {
            const CUdeviceptr address = range.native() + next_offset();
            ok(driver().cuMemMap(address, size, 0, memory.native(), 0));
            ok(driver().cuMemSetAccess(address, size, &grant.native(), 1));
            return address;
        },
        [](CUdeviceptr address) { ok(driver().cuMemUnmap(address, size)); },
        [&] { return ok(MappedRange::map(range, next_offset(), memory, grant)); });
}

TEST_CASE("enqueueing by wrappers costs at most 2 % or 100 ns more") {
    const Gpu gpu;
    const CUstream stream = gpu.stream.native();
    auto from = ok(DeviceBuffer<int>::allocate(gpu.context, 1000));
    auto to = ok(DeviceBuffer<int>::allocate(gpu.context, 1000));

    compare(
        "copy, enqueue", 50,
        [&] { ok(driver().cuMemcpyAsync(to.native(), from.native(), 4000, stream)); },
        [&] { ok(copy(gpu.stream, to.span(), from.span())); }, [&] { gpu.wait(); });

    const auto module = ok(Module::load(gpu.context, nothing_ptx));
    const auto kernel = ok(module.kernel<Nothing>("nothing"));
    const CUfunction function = kernel.native();
    compare(
        "kernel, launch", 50,
        [&] {
            int *address = to.data();
            unsigned int number = 1;
            void *arguments[] = {&address, &number};
            ok(driver().cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
        },
        [&] { ok(kernel.launch(gpu.stream, {.grid = 1, .block = 32}, to, 1u)); },
        [&] { gpu.wait(); });
}

// From 1 GiB to 2 GiB in steps of 64 MiB: in place, and by allocating, copying and freeing.
TEST_CASE("growing in place is faster than allocating and copying") {
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
    gpu_test::figure("growing 1 GiB to 2 GiB in 16 steps, in place", best_growing, "ms");
    gpu_test::figure("growing 1 GiB to 2 GiB in 16 steps, by allocating and copying", best_copying,
                     "ms");
    CHECK(best_growing < best_copying);
}
