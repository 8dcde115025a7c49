/* Operations by raw calls and by wrappers, on the driver of idle_driver.c.
 *
 * usage: wrappers SHORT LONG. For each operation in turn, first raw, then wrapped, measured() makes
 * SHORT operations, then LONG ones. Prints a line per operation: the driver calls per operation,
 * raw and wrapped, if the driver counts them, and the operation's name.
 * usage: wrappers time. Prints instead the nanoseconds of an operation, raw and wrapped.
 */
#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/driver_table.hpp>
#include <cushim/event.hpp>
#include <cushim/graph.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/kernel.hpp>
#include <cushim/module.hpp>
#include <cushim/runtime_graph.hpp>
#include <cushim/runtime_table.hpp>
#include <cushim/stream.hpp>
#include <cushim/virtual_memory.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "now_in_ns.hpp"

namespace {

using namespace cushim;

const auto raw = driver();
const auto raw_runtime = runtime();

template <class Status>
    requires(std::is_enum_v<Status>)
void require(Status status) {
    if (status != Status{}) [[unlikely]] {
        fprintf(stderr, "status %d\n", static_cast<int>(status));
        exit(1);
    }
}

template <class T>
T require(Result<T> &&result) {
    if (!result) [[unlikely]] {
        fprintf(stderr, "%s\n", result.error().message());
        exit(1);
    }
    if constexpr (!std::is_void_v<T>) {
        return *static_cast<Result<T> &&>(result);
    }
}

// Programs that use CUDA have threads; without a second one, the C++ library avoids atomic
// operations.
void *sleep_for_ever(void *) {
    for (;;) {
        pause();
    }
}

void *address(DeviceBuffer<int> &buffer) {
    return reinterpret_cast<void *>(buffer.native());
}

constexpr std::size_t count = 256, bytes = count * sizeof(int), page = 2 << 20;
using Signature = void(const int *, const int *, int *, unsigned int);

Context current_context() {
    Context context = require(Context::primary(require(Device::get(0))));
    require(context.make_current()); // as programs of one device do
    return context;
}

// What the operations use.
struct Objects {
    Context context = current_context();
    Stream stream = require(Stream::create(context));
    Event event = require(Event::create(context));
    DeviceBuffer<int> a = require(DeviceBuffer<int>::allocate(context, count));
    DeviceBuffer<int> b = require(DeviceBuffer<int>::allocate(context, count));
    DeviceBuffer<int> c = require(DeviceBuffer<int>::allocate(context, count));
    int host[count] = {};
    AddressRange range = require(AddressRange::reserve(require(Device::get(0)), page));
    PhysicalMemory memory = require(PhysicalMemory::create(require(Device::get(0)), page));
    AccessGrant access{require(Device::get(0)), AccessFlags::read_write};
    Module module = require(Module::load(context, ""));
    Kernel<Signature> kernel = require(module.kernel<Signature>("add"));
    LaunchConfig config = LaunchConfig::covering(count);
    Graph graph = require(Graph::create(context));
    GraphExec exec = require(graph.instantiate());
    // The last node, on which the next one depends.
    GraphNode node = require(graph.add_empty_node({}));
    CUgraphNode raw_node = node.native();
    // An executable graph whose nodes are set.
    Graph set_graph = require(Graph::create(context));
    GraphNode set_fill = require(set_graph.add_memset_node({}, a, 1));
    GraphNode set_kernel = require(set_graph.add_kernel_node(set_fill, kernel, config, a, b, c,
                                                             static_cast<unsigned int>(count)));
    GraphExec set_exec = require(set_graph.instantiate());
    // The same for a graph of the runtime API.
    Graph runtime_graph = require(rt::create_graph(context));
    GraphNode runtime_node = require(runtime_graph.add_empty_node({}));
    CUgraphNode raw_runtime_node = runtime_node.native();
};

struct Operation {
    const char *name;
    void (*repeat[2])(Objects &, long count); // by raw calls, by wrappers
};

template <auto function>
void repeat(Objects &objects, long count) {
    for (long i = 0; i < count; ++i) {
        function(objects);
    }
}

constexpr auto raw_event = [](Objects &) {
    CUevent event;
    require(raw.cuEventCreate(&event, CU_EVENT_DEFAULT));
    require(raw.cuEventDestroy(event));
};
constexpr auto event = [](Objects &o) { (void)require(Event::create(o.context)); };

constexpr auto raw_record = [](Objects &o) {
    require(raw.cuEventRecord(o.event.native(), o.stream.native()));
};
constexpr auto record = [](Objects &o) { require(o.event.record(o.stream)); };

constexpr auto raw_wait = [](Objects &o) {
    require(raw.cuStreamWaitEvent(o.stream.native(), o.event.native(), 0));
};
constexpr auto wait = [](Objects &o) { require(o.stream.wait_event(o.event)); };

constexpr auto raw_stream = [](Objects &) {
    CUstream stream;
    require(raw.cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, 0));
    require(raw.cuStreamDestroy(stream));
};
constexpr auto stream = [](Objects &o) { (void)require(Stream::create(o.context)); };

constexpr auto raw_memory = [](Objects &) {
    CUdeviceptr address;
    require(raw.cuMemAlloc(&address, bytes));
    require(raw.cuMemFree(address));
};
constexpr auto memory = [](Objects &o) {
    (void)require(DeviceBuffer<int>::allocate(o.context, count));
};

constexpr auto raw_stream_memory = [](Objects &o) {
    CUdeviceptr address;
    require(raw.cuMemAllocAsync(&address, bytes, o.stream.native()));
    require(raw.cuMemFreeAsync(address, o.stream.native()));
};
constexpr auto stream_memory = [](Objects &o) {
    (void)require(DeviceBuffer<int>::allocate_async(o.stream, count));
};

constexpr auto raw_map = [](Objects &o) {
    const CUdeviceptr address = o.range.native();
    const CUmemAccessDesc access = o.access.native();
    require(raw.cuMemMap(address, page, 0, o.memory.native(), 0));
    require(raw.cuMemSetAccess(address, page, &access, 1));
    require(raw.cuMemUnmap(address, page));
};
constexpr auto map = [](Objects &o) {
    (void)require(MappedRange::map(o.range, 0, o.memory, o.access));
};

constexpr auto raw_copy = [](Objects &o) {
    require(raw.cuMemcpyHtoDAsync(o.a.native(), o.host, bytes, o.stream.native()));
};
constexpr auto copy_to_device = [](Objects &o) {
    require(copy(o.stream, o.a.span(), std::span(o.host)));
};

constexpr auto raw_fill = [](Objects &o) {
    require(raw.cuMemsetD32Async(o.a.native(), 1, count, o.stream.native()));
};
constexpr auto fill_buffer = [](Objects &o) { require(fill(o.stream, o.a, 1)); };

constexpr auto raw_launch = [](Objects &o) {
    CUdeviceptr a = o.a.native(), b = o.b.native(), c = o.c.native();
    unsigned int size = count;
    void *arguments[] = {&a, &b, &c, &size};
    require(raw.cuLaunchKernel(o.kernel.native(), 1, 1, 1, count, 1, 1, 0, o.stream.native(),
                               arguments, nullptr));
};
constexpr auto launch = [](Objects &o) {
    require(o.kernel.launch(o.stream, o.config, o.a, o.b, o.c, static_cast<unsigned int>(count)));
};

constexpr auto raw_graph_launch = [](Objects &o) {
    require(raw.cuGraphLaunch(o.exec.native(), o.stream.native()));
};
constexpr auto graph_launch = [](Objects &o) { require(o.exec.launch(o.stream)); };

constexpr auto raw_graph = [](Objects &) {
    CUgraph graph;
    require(raw.cuGraphCreate(&graph, 0));
    require(raw.cuGraphDestroy(graph));
};
constexpr auto graph = [](Objects &o) { (void)require(Graph::create(o.context)); };

constexpr auto raw_exec = [](Objects &o) {
    CUgraphExec exec;
    require(raw.cuGraphInstantiateWithFlags(&exec, o.graph.native(), 0));
    require(raw.cuGraphExecDestroy(exec));
};
constexpr auto exec = [](Objects &o) { (void)require(o.graph.instantiate()); };

// --- nodes, each after the previous one

constexpr auto raw_empty_node = [](Objects &o) {
    const CUgraphNode before = o.raw_node;
    require(raw.cuGraphAddEmptyNode(&o.raw_node, o.graph.native(), &before, 1));
};
constexpr auto empty_node = [](Objects &o) { o.node = require(o.graph.add_empty_node({o.node})); };

constexpr auto raw_memset_node = [](Objects &o) {
    const CUgraphNode before = o.raw_node;
    const CUDA_MEMSET_NODE_PARAMS fill = {o.a.native(), 0, 1, sizeof(int), count, 1};
    require(raw.cuGraphAddMemsetNode(&o.raw_node, o.graph.native(), &before, 1, &fill,
                                     o.context.native()));
};
constexpr auto memset_node = [](Objects &o) {
    o.node = require(o.graph.add_memset_node({o.node}, o.a, 1));
};

constexpr auto raw_memcpy_node = [](Objects &o) {
    const CUgraphNode before = o.raw_node;
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = o.a.native();
    copy.dstDevice = o.b.native();
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    require(raw.cuGraphAddMemcpyNode(&o.raw_node, o.graph.native(), &before, 1, &copy,
                                     o.context.native()));
};
constexpr auto memcpy_node = [](Objects &o) {
    o.node = require(o.graph.add_memcpy_node({o.node}, o.b, o.a));
};

constexpr auto raw_host_node = [](Objects &o) {
    const CUgraphNode before = o.raw_node;
    const CUDA_HOST_NODE_PARAMS call = {[](void *) {}, nullptr};
    require(raw.cuGraphAddHostNode(&o.raw_node, o.graph.native(), &before, 1, &call));
};
constexpr auto host_node = [](Objects &o) {
    o.node = require(o.graph.add_host_node({o.node}, [] {}));
};

constexpr auto raw_kernel_node = [](Objects &o) {
    const CUgraphNode before = o.raw_node;
    CUdeviceptr a = o.a.native(), b = o.b.native(), c = o.c.native();
    unsigned int size = count;
    void *arguments[] = {&a, &b, &c, &size};
    CUDA_KERNEL_NODE_PARAMS_v1 kernel = {};
    kernel.func = o.kernel.native();
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = count;
    kernel.blockDimY = kernel.blockDimZ = 1;
    kernel.kernelParams = arguments;
    require(raw.cuGraphAddKernelNode_v1(&o.raw_node, o.graph.native(), &before, 1, &kernel));
};
constexpr auto kernel_node = [](Objects &o) CUSHIM_INLINE { // like the others, which are short
    o.node = require(o.graph.add_kernel_node({o.node}, o.kernel, o.config, o.a, o.b, o.c,
                                             static_cast<unsigned int>(count)));
};

// --- nodes of an executable graph, set again to the same memory

constexpr auto raw_set_memset_node = [](Objects &o) {
    const CUDA_MEMSET_NODE_PARAMS fill = {o.a.native(), 0, 1, sizeof(int), count, 1};
    require(raw.cuGraphExecMemsetNodeSetParams(o.set_exec.native(), o.set_fill.native(), &fill,
                                               o.context.native()));
};
constexpr auto set_memset_node = [](Objects &o) {
    require(o.set_exec.set_memset_node(o.set_fill, o.a, 1));
};

constexpr auto raw_set_kernel_node = [](Objects &o) {
    CUdeviceptr a = o.a.native(), b = o.b.native(), c = o.c.native();
    unsigned int size = count;
    void *arguments[] = {&a, &b, &c, &size};
    CUDA_KERNEL_NODE_PARAMS_v1 kernel = {};
    kernel.func = o.kernel.native();
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = count;
    kernel.blockDimY = kernel.blockDimZ = 1;
    kernel.kernelParams = arguments;
    require(
        raw.cuGraphExecKernelNodeSetParams_v1(o.set_exec.native(), o.set_kernel.native(), &kernel));
};
constexpr auto set_kernel_node = [](Objects &o) {
    require(o.set_exec.set_kernel_node(o.set_kernel, o.kernel, o.config, o.a, o.b, o.c,
                                       static_cast<unsigned int>(count)));
};

// --- nodes of the runtime API, too

constexpr auto raw_runtime_empty_node = [](Objects &o) {
    const CUgraphNode before = o.raw_runtime_node;
    require(raw_runtime.cudaGraphAddEmptyNode(&o.raw_runtime_node, o.runtime_graph.native(),
                                              &before, 1));
};
constexpr auto runtime_empty_node = [](Objects &o) {
    o.runtime_node = require(o.runtime_graph.add_empty_node({o.runtime_node}));
};

constexpr auto raw_runtime_memset_node = [](Objects &o) {
    const CUgraphNode before = o.raw_runtime_node;
    const cudaMemsetParams fill = {address(o.a), 0, 1, sizeof(int), count, 1};
    require(raw_runtime.cudaGraphAddMemsetNode(&o.raw_runtime_node, o.runtime_graph.native(),
                                               &before, 1, &fill));
};
constexpr auto runtime_memset_node = [](Objects &o) {
    o.runtime_node = require(o.runtime_graph.add_memset_node({o.runtime_node}, o.a, 1));
};

constexpr auto raw_runtime_memcpy_node = [](Objects &o) {
    const CUgraphNode before = o.raw_runtime_node;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = {address(o.a), bytes, bytes, 1};
    copy.dstPtr = {address(o.b), bytes, bytes, 1};
    copy.extent = {bytes, 1, 1};
    copy.kind = cudaMemcpyDeviceToDevice;
    require(raw_runtime.cudaGraphAddMemcpyNode(&o.raw_runtime_node, o.runtime_graph.native(),
                                               &before, 1, &copy));
};
constexpr auto runtime_memcpy_node = [](Objects &o) {
    o.runtime_node = require(o.runtime_graph.add_memcpy_node({o.runtime_node}, o.b, o.a));
};

constexpr auto raw_runtime_host_node = [](Objects &o) {
    const CUgraphNode before = o.raw_runtime_node;
    const cudaHostNodeParams call = {[](void *) {}, nullptr};
    require(raw_runtime.cudaGraphAddHostNode(&o.raw_runtime_node, o.runtime_graph.native(), &before,
                                             1, &call));
};
constexpr auto runtime_host_node = [](Objects &o) {
    o.runtime_node = require(o.runtime_graph.add_host_node({o.runtime_node}, [] {}));
};

constexpr Operation operations[] = {
    {"event, create and destroy", {repeat<raw_event>, repeat<event>}},
    {"event, record", {repeat<raw_record>, repeat<record>}},
    {"event, wait", {repeat<raw_wait>, repeat<wait>}},
    {"stream, create and destroy", {repeat<raw_stream>, repeat<stream>}},
    {"device memory, allocate and free", {repeat<raw_memory>, repeat<memory>}},
    {"the same in stream order", {repeat<raw_stream_memory>, repeat<stream_memory>}},
    {"mapped range, map and unmap", {repeat<raw_map>, repeat<map>}},
    {"copy, enqueued", {repeat<raw_copy>, repeat<copy_to_device>}},
    {"fill, enqueued", {repeat<raw_fill>, repeat<fill_buffer>}},
    {"launch, four arguments", {repeat<raw_launch>, repeat<launch>}},
    {"graph, create and destroy", {repeat<raw_graph>, repeat<graph>}},
    {"graph, instantiate and destroy", {repeat<raw_exec>, repeat<exec>}},
    {"graph, launch", {repeat<raw_graph_launch>, repeat<graph_launch>}},
    {"graph, empty node", {repeat<raw_empty_node>, repeat<empty_node>}},
    {"graph, memset node", {repeat<raw_memset_node>, repeat<memset_node>}},
    {"graph, memcpy node", {repeat<raw_memcpy_node>, repeat<memcpy_node>}},
    {"graph, host node", {repeat<raw_host_node>, repeat<host_node>}},
    {"graph, kernel node", {repeat<raw_kernel_node>, repeat<kernel_node>}},
    {"executable graph, memset node", {repeat<raw_set_memset_node>, repeat<set_memset_node>}},
    {"executable graph, kernel node", {repeat<raw_set_kernel_node>, repeat<set_kernel_node>}},
    {"runtime graph, empty node", {repeat<raw_runtime_empty_node>, repeat<runtime_empty_node>}},
    {"runtime graph, memset node", {repeat<raw_runtime_memset_node>, repeat<runtime_memset_node>}},
    {"runtime graph, memcpy node", {repeat<raw_runtime_memcpy_node>, repeat<runtime_memcpy_node>}},
    {"runtime graph, host node", {repeat<raw_runtime_host_node>, repeat<runtime_host_node>}},
};

} // namespace

// Callgrind writes the instructions of each call of this function: wrappers.py.
extern "C" [[gnu::noinline]] void measured(const Operation &operation, int way, Objects &objects,
                                           long count) {
    operation.repeat[way](objects, count);
}

// The shortest of many runs, which are shorter than a time slice: other programs disturb few.
void print_times(Objects &objects) {
    constexpr long count = 2000, runs = 200;
    for (const Operation &operation : operations) {
        double best[2] = {1e18, 1e18};
        for (long run = 0; run < runs; ++run) {
            for (int way = 0; way < 2; ++way) {
                const double begin = now_in_ns();
                operation.repeat[way](objects, count);
                best[way] = std::min(best[way], (now_in_ns() - begin) / count);
            }
        }
        printf("%.2f %.2f %s\n", best[0], best[1], operation.name);
    }
}

int main(int argc, char **argv) {
    const bool in_time = argc == 2 && strcmp(argv[1], "time") == 0;
    if (argc != 3 && !in_time) {
        return 2;
    }
    pthread_t sleeper;
    if (pthread_create(&sleeper, nullptr, sleep_for_ever, nullptr) != 0) {
        return 1;
    }
    Objects objects;
    if (in_time) {
        print_times(objects);
        return 0;
    }
    void *const library = dlopen(getenv("CUSHIM_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    const auto *const driver_calls =
        static_cast<const unsigned long *>(dlsym(library, "idle_driver_calls"));
    for (const Operation &operation : operations) {
        double calls[2];
        for (int way = 0; way < 2; ++way) {
            operation.repeat[way](objects, 1); // first calls
            measured(operation, way, objects, atol(argv[1]));
            const unsigned long before = *driver_calls;
            measured(operation, way, objects, atol(argv[2]));
            calls[way] = double(*driver_calls - before) / double(atol(argv[2]));
        }
        printf("%.2f %.2f %s\n", calls[0], calls[1], operation.name);
    }
    return 0;
}
