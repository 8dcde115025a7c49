// Graphs for tests: short names for calls that the headers of CUDA versions declare differently,
// and common nodes.
#pragma once

#include "base/checks.hpp"
#include "run_order.hpp"

namespace sim_test {

using Nodes = std::vector<CUgraphNode>;

// The node that `call` adds; `more` are the arguments after the dependencies.
template <class Add, class... More>
CUgraphNode added(Add call, CUgraph graph, const Nodes &after, const More &...more) {
    CUgraphNode node = nullptr;
    require_ok((driver().*call)(&node, graph, after.data(), after.size(), more...));
    return node;
}

inline CUgraphNode add_empty(CUgraph graph, const Nodes &after = {}) {
    return added(&Driver::cuGraphAddEmptyNode, graph, after);
}

inline CUDA_HOST_NODE_PARAMS host_parameters(RunOrder &order, int number) {
    return {.fn = RunOrder::note, .userData = order.entry(number)};
}
// A node that notes its number when it runs.
inline CUgraphNode add_note(CUgraph graph, RunOrder &order, int number, const Nodes &after = {}) {
    const CUDA_HOST_NODE_PARAMS parameters = host_parameters(order, number);
    return added(&Driver::cuGraphAddHostNode, graph, after, &parameters);
}

// A memset of consecutive words.
inline CUDA_MEMSET_NODE_PARAMS words(CUdeviceptr address, std::uint32_t value, std::size_t count) {
    return {.dst = address, .value = value, .elementSize = 4, .width = count, .height = 1};
}
inline CUgraphNode add_memset(CUgraph graph, const CUDA_MEMSET_NODE_PARAMS &parameters,
                              const Nodes &after = {}) {
    return added(&Driver::cuGraphAddMemsetNode, graph, after, &parameters, current());
}

// A copy of consecutive bytes in device memory.
inline CUDA_MEMCPY3D device_copy(CUdeviceptr to, CUdeviceptr from, std::size_t size) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.WidthInBytes = size;
    copy.Height = copy.Depth = 1;
    return copy;
}
inline CUDA_MEMCPY3D copy_to_host(void *to, CUdeviceptr from, std::size_t size) {
    CUDA_MEMCPY3D copy = device_copy(0, from, size);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = to;
    return copy;
}
inline CUgraphNode add_copy(CUgraph graph, const CUDA_MEMCPY3D &copy, const Nodes &after = {}) {
    return added(&Driver::cuGraphAddMemcpyNode, graph, after, &copy, current());
}

// Device memory of words.
struct Words : Unique {
    explicit Words(std::size_t words) : count(words) {
        require_ok(driver().cuMemAlloc(&address, words * 4));
    }
    ~Words() {
        if (sim_control().view(address, 1) != nullptr) { // still allocated
            free();
        }
    }
    void free() { ok(driver().cuMemFree(address)); }
    // The current contents; does not wait.
    std::uint32_t at(std::size_t index) const {
        const void *view = sim_control().view(address, count * 4);
        REQUIRE(view != nullptr);
        return static_cast<const std::uint32_t *>(view)[index];
    }
    CUdeviceptr address = 0;
    std::size_t count;
};

// The value of a kernel parameter.
template <class T>
T parameter(const cushim_sim_launch *launch, unsigned int index) {
    T value;
    std::memcpy(&value, launch->parameters[index], sizeof value);
    return value;
}

inline CUDA_KERNEL_NODE_PARAMS kernel_parameters(CUfunction function, void **arguments = nullptr) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = function;
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments;
    return parameters;
}
inline CUgraphNode add_kernel(CUgraph graph, const CUDA_KERNEL_NODE_PARAMS &parameters,
                              const Nodes &after = {}) {
    return added(&Driver::cuGraphAddKernelNode, graph, after, &parameters);
}

// A module with a kernel "fails" whose launches fail.
inline CUmodule load_failing_kernel() {
    const auto fail = [](const cushim_sim_launch *, void *) {
        return int(CUDA_ERROR_LAUNCH_FAILED);
    };
    sim_control().register_kernel("fails", fail, nullptr);
    return load_module("cushim-sim-image 1\nkernel fails\n");
}

// Adds a copy of `child`.
inline CUgraphNode add_child(CUgraph graph, CUgraph child, const Nodes &after = {}) {
    return added(&Driver::cuGraphAddChildGraphNode, graph, after, child);
}
// The graph that a child graph node owns.
inline CUgraph child_of(CUgraphNode node) {
    return got<CUgraph>(&Driver::cuGraphChildGraphNodeGetGraph, node, out);
}
inline CUgraph clone_of(CUgraph graph) {
    return got<CUgraph>(&Driver::cuGraphClone, out, graph);
}

inline CUgraphNode add_wait(CUgraph graph, CUevent event, const Nodes &after = {}) {
    return added(&Driver::cuGraphAddEventWaitNode, graph, after, event);
}
inline CUgraphNode add_record(CUgraph graph, CUevent event, const Nodes &after = {}) {
    return added(&Driver::cuGraphAddEventRecordNode, graph, after, event);
}

inline CUresult add_edge(CUgraph graph, CUgraphNode from, CUgraphNode to) {
    return driver().cuGraphAddDependencies_v1(graph, &from, &to, 1);
}
inline CUresult remove_edge(CUgraph graph, CUgraphNode from, CUgraphNode to) {
    return driver().cuGraphRemoveDependencies_v1(graph, &from, &to, 1);
}

inline CUresult try_instantiate(CUgraph graph, unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    return driver().cuGraphInstantiateWithFlags(&exec, graph, flags);
}

// Launches and waits.
inline void run(CUgraphExec exec, CUstream stream = nullptr) {
    require_ok(driver().cuGraphLaunch(exec, stream));
    require_ok(driver().cuStreamSynchronize(stream));
}

inline Nodes nodes_of(CUgraph graph) {
    auto count = got<std::size_t>(&Driver::cuGraphGetNodes, graph, nullptr, out);
    Nodes nodes(count);
    require_ok(driver().cuGraphGetNodes(graph, nodes.data(), &count));
    return nodes;
}
using Types = std::vector<CUgraphNodeType>;
inline Types types_of(CUgraph graph) {
    Types types;
    for (const CUgraphNode node : nodes_of(graph)) {
        types.push_back(got<CUgraphNodeType>(&Driver::cuGraphNodeGetType, node, out));
    }
    return types;
}
inline Nodes dependencies_of(CUgraphNode node) {
    auto count = got<std::size_t>(&Driver::cuGraphNodeGetDependencies_v1, node, nullptr, out);
    Nodes nodes(count);
    require_ok(driver().cuGraphNodeGetDependencies_v1(node, nodes.data(), &count));
    return nodes;
}

struct Update {
    CUresult status;
    int result;
    CUgraphNode node;
    CUgraphNode from; // always null with the first version of the call
};
inline Update update(CUgraphExec exec, CUgraph graph) {
#if CUDA_VERSION >= 12000
    CUgraphExecUpdateResultInfo info{};
    const CUresult status = driver().cuGraphExecUpdate(exec, graph, &info);
    return {status, info.result, info.errorNode, info.errorFromNode};
#else
    CUgraphNode node = nullptr;
    CUgraphExecUpdateResult result{};
    const CUresult status = driver().cuGraphExecUpdate(exec, graph, &node, &result);
    return {status, result, node, nullptr};
#endif
}

} // namespace sim_test
