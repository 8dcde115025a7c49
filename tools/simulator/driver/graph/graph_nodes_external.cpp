// External semaphore nodes and batch memory operation nodes.
#include "driver_functions.hpp"
#include "graph/graph_nodes.hpp"
#include "interop/external.hpp"
#include "memory/stream_memory_operations.hpp"

namespace sim {
namespace {

template <class Operations, class Parameters>
Operations copied(const Parameters &p) {
    require(p.numExtSems == 0 || (p.extSemArray != nullptr && p.paramsArray != nullptr));
    return {{p.extSemArray, p.extSemArray + p.numExtSems},
            {p.paramsArray, p.paramsArray + p.numExtSems}};
}

template <class Parameters, class Operations>
Parameters shown(Operations &operations) {
    Parameters p = {};
    p.extSemArray = operations.semaphores.data();
    p.paramsArray = operations.parameters.data();
    p.numExtSems = static_cast<unsigned int>(operations.semaphores.size());
    return p;
}

constexpr unsigned int most_operations = 256; // limit for one batch

} // namespace

NodeContent signal_content(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS &parameters) {
    NodeContent content;
    content.work =
        signal_work(copied<SemaphoreSignals>(parameters), "external semaphore signal node");
    return content;
}

NodeContent wait_content(const CUDA_EXT_SEM_WAIT_NODE_PARAMS &parameters) {
    NodeContent content;
    content.work = wait_work(copied<SemaphoreWaits>(parameters), "external semaphore wait node");
    return content;
}

NodeContent batch_content(const CUDA_BATCH_MEM_OP_NODE_PARAMS &p) {
    require(p.flags == 0 && p.count <= most_operations &&
            (p.count == 0 || p.paramArray != nullptr));
    NodeContent content;
    content.context = p.ctx;
    content.batch_flags = p.flags;
    content.work = batch_memory_work({p.paramArray, p.paramArray + p.count}, p.flags,
                                     "batch memory operation node");
    return content;
}

CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal_parameters(NodeContent &content) {
    return shown<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(
        std::any_cast<SemaphoreSignals &>(content.work.parameters));
}

CUDA_EXT_SEM_WAIT_NODE_PARAMS wait_parameters(NodeContent &content) {
    return shown<CUDA_EXT_SEM_WAIT_NODE_PARAMS>(
        std::any_cast<SemaphoreWaits &>(content.work.parameters));
}

CUDA_BATCH_MEM_OP_NODE_PARAMS batch_parameters(NodeContent &content) {
    auto &operations =
        std::any_cast<std::vector<CUstreamBatchMemOpParams> &>(content.work.parameters);
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = {};
    p.ctx = content.context;
    p.count = static_cast<unsigned int>(operations.size());
    p.paramArray = operations.data();
    p.flags = content.batch_flags;
    return p;
}

namespace driver {

CUresult cuGraphAddExternalSemaphoresSignalNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                                const CUgraphNode *dependencies,
                                                size_t numDependencies,
                                                const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return signal_content(*nodeParams); });
    return CUDA_SUCCESS;
}

CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode hNode,
                                                      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params_out) {
    require(params_out != nullptr);
    *params_out = signal_parameters(node_of(hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL).content);
    return CUDA_SUCCESS;
}

CUresult
cuGraphExternalSemaphoresSignalNodeSetParams(CUgraphNode hNode,
                                             const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hNode, signal_content(*nodeParams));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hGraphExec, hNode, signal_content(*nodeParams));
    return CUDA_SUCCESS;
}

CUresult cuGraphAddExternalSemaphoresWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                              const CUgraphNode *dependencies,
                                              size_t numDependencies,
                                              const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return wait_content(*nodeParams); });
    return CUDA_SUCCESS;
}

CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode hNode,
                                                    CUDA_EXT_SEM_WAIT_NODE_PARAMS *params_out) {
    require(params_out != nullptr);
    *params_out = wait_parameters(node_of(hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT).content);
    return CUDA_SUCCESS;
}

CUresult
cuGraphExternalSemaphoresWaitNodeSetParams(CUgraphNode hNode,
                                           const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hNode, wait_content(*nodeParams));
    return CUDA_SUCCESS;
}

CUresult
cuGraphExecExternalSemaphoresWaitNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                               const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hGraphExec, hNode, wait_content(*nodeParams));
    return CUDA_SUCCESS;
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return batch_content(*nodeParams); });
    return CUDA_SUCCESS;
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                        CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out) {
    require(nodeParams_out != nullptr);
    *nodeParams_out = batch_parameters(node_of(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP).content);
    return CUDA_SUCCESS;
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hNode, batch_content(*nodeParams));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hGraphExec, hNode, batch_content(*nodeParams));
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
