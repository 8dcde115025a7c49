// Nodes of any type through one function, and conditional handles.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/graph/graph_parameters.hpp"
#include "runtime/kernel/symbol.hpp"
#include "runtime/memory/copy_parameters.hpp"
#include "runtime/memory/external_parameters.hpp"

#include <vector>

namespace sim::runtime {

#if CUDART_VERSION >= 12020

namespace {

// The context of a node, from the runtime's execution context; without one, the current context.
template <class Node>
CUcontext context_of([[maybe_unused]] const Node &node) {
#if CUDART_VERSION >= 13010
    if constexpr (requires { node.ctx; }) {
        if (node.ctx != nullptr) {
            CUcontext context = nullptr;
            demand(CU(cuCtxFromGreenCtx)(&context, reinterpret_cast<CUgreenCtx>(node.ctx)));
            return context;
        }
    }
#endif
    return current_context();
}

// The driver's parameters of a node, with everything they point to, for the duration of a call.
class Parameters {
  public:
    explicit Parameters(cudaGraphNodeParams *given) : given_(given) {
        require(given_ != nullptr);
        node_.type = same<CUgraphNodeType>(given_->type);
        convert();
    }
    CUgraphNodeParams *get() { return &node_; }
    // Copies the driver's outputs to the client.
    void hand_back() {
        if (given_->type == cudaGraphNodeTypeMemAlloc) {
            given_->alloc.dptr = pointer(node_.alloc.dptr);
        }
#if CUDART_VERSION >= 12030
        if (given_->type == cudaGraphNodeTypeConditional) {
            given_->conditional.phGraph_out = node_.conditional.phGraph_out;
        }
#endif
    }

  private:
    void convert() {
        switch (given_->type) {
        case cudaGraphNodeTypeKernel:
            return kernel();
        case cudaGraphNodeTypeMemcpy:
            node_.memcpy.flags = given_->memcpy.flags;
            node_.memcpy.copyCtx = context_of(given_->memcpy);
            node_.memcpy.copyParams = copy_of(&given_->memcpy.copyParams);
            return;
        case cudaGraphNodeTypeMemset:
            return memset();
        case cudaGraphNodeTypeHost:
            node_.host.fn = given_->host.fn;
            node_.host.userData = given_->host.userData;
#if CUDART_VERSION >= 13020
            if constexpr (requires { given_->host.syncMode; }) {
                node_.host.syncMode = given_->host.syncMode;
            }
#endif
            return;
        case cudaGraphNodeTypeGraph:
            node_.graph.graph = given_->graph.graph;
#if CUDART_VERSION >= 12090
            node_.graph.ownership = same<CUgraphChildGraphNodeOwnership>(given_->graph.ownership);
#endif
            return;
        case cudaGraphNodeTypeEmpty:
            return;
        case cudaGraphNodeTypeWaitEvent:
            node_.eventWait.event = given_->eventWait.event;
            return;
        case cudaGraphNodeTypeEventRecord:
            node_.eventRecord.event = given_->eventRecord.event;
            return;
        case cudaGraphNodeTypeExtSemaphoreSignal:
            signals_ =
                signals_of(given_->extSemSignal.paramsArray, given_->extSemSignal.numExtSems);
            node_.extSemSignal.extSemArray =
                const_cast<CUexternalSemaphore *>(semaphores_of(given_->extSemSignal.extSemArray));
            node_.extSemSignal.paramsArray = signals_.data();
            node_.extSemSignal.numExtSems = given_->extSemSignal.numExtSems;
            return;
        case cudaGraphNodeTypeExtSemaphoreWait:
            waits_ = waits_of(given_->extSemWait.paramsArray, given_->extSemWait.numExtSems);
            node_.extSemWait.extSemArray =
                const_cast<CUexternalSemaphore *>(semaphores_of(given_->extSemWait.extSemArray));
            node_.extSemWait.paramsArray = waits_.data();
            node_.extSemWait.numExtSems = given_->extSemWait.numExtSems;
            return;
        case cudaGraphNodeTypeMemAlloc:
            node_.alloc = same_struct<CUDA_MEM_ALLOC_NODE_PARAMS_v2>(given_->alloc);
            return;
        case cudaGraphNodeTypeMemFree:
            node_.free.dptr = address(given_->free.dptr);
            return;
#if CUDART_VERSION >= 12030
        case cudaGraphNodeTypeConditional:
            node_.conditional.handle = given_->conditional.handle;
            node_.conditional.type = same<CUgraphConditionalNodeType>(given_->conditional.type);
            node_.conditional.size = given_->conditional.size;
            node_.conditional.ctx = context_of(given_->conditional);
            return;
#endif
        default:
            fail(cudaErrorInvalidValue);
        }
    }

    void kernel() {
        const auto &given = given_->kernel;
        auto &node = node_.kernel;
        bool found = false;
#if CUDART_VERSION >= 13020
        if constexpr (requires { given.functionType; }) {
            if (given.functionType == cudaKernelFunctionTypeFunction) {
                node.func = given.cuFunc;
                found = true;
            }
        }
#endif
        if (!found) {
            node.kern = kernel_of(given.func);
        }
        node.ctx = context_of(given);
        node.gridDimX = given.gridDim.x;
        node.gridDimY = given.gridDim.y;
        node.gridDimZ = given.gridDim.z;
        node.blockDimX = given.blockDim.x;
        node.blockDimY = given.blockDim.y;
        node.blockDimZ = given.blockDim.z;
        node.sharedMemBytes = given.sharedMemBytes;
        node.kernelParams = given.kernelParams;
        node.extra = given.extra;
    }

    void memset() {
        const auto &given = given_->memset;
        auto &node = node_.memset;
        node.dst = address(given.dst);
        node.pitch = given.pitch;
        node.value = given.value;
        node.elementSize = given.elementSize;
        node.width = given.width;
        node.height = given.height;
        node.ctx = context_of(given);
    }

    cudaGraphNodeParams *given_;
    CUgraphNodeParams node_{};
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals_;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits_;
};

} // namespace

// --- entry points

#if CUDART_VERSION >= 12030
namespace {

cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                const cudaGraphEdgeData *data, size_t count, cudaGraphNodeParams *parameters) {
    Parameters wanted(parameters);
    demand(CU(cuGraphAddNode_v2)(node, graph, dependencies,
                                 same_memory<const CUgraphEdgeData>(data), count, wanted.get()));
    wanted.hand_back();
    return cudaSuccess;
}

} // namespace

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t *pDependencies,
                             const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                             cudaGraphNodeParams *nodeParams) {
    return add(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams);
}
#else
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                const cudaGraphNode_t *pDependencies,
                                const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                cudaGraphNodeParams *nodeParams) {
    return add(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams);
}
#endif

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
                                             cudaGraph_t graph, unsigned int defaultLaunchValue,
                                             unsigned int flags) {
    const CUcontext context = current_context();
    return CU(cuGraphConditionalHandleCreate)(same_memory<CUgraphConditionalHandle>(pHandle_out),
                                              graph, context, defaultLaunchValue, flags);
}

#if CUDART_VERSION >= 13010
cudaError_t cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle *pHandle_out,
                                                cudaGraph_t graph, cudaExecutionContext_t ctx,
                                                unsigned int defaultLaunchValue,
                                                unsigned int flags) {
    struct {
        cudaExecutionContext_t ctx;
    } const named{ctx};
    const CUcontext context = context_of(named);
    return CU(cuGraphConditionalHandleCreate)(same_memory<CUgraphConditionalHandle>(pHandle_out),
                                              graph, context, defaultLaunchValue, flags);
}
#endif
#endif

#if CUDART_VERSION < 13000
cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t *pDependencies, size_t numDependencies,
                             cudaGraphNodeParams *nodeParams) {
    Parameters wanted(nodeParams);
    demand(CU(cuGraphAddNode)(pGraphNode, graph, pDependencies, numDependencies, wanted.get()));
    wanted.hand_back();
    return cudaSuccess;
}
#endif

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams *nodeParams) {
    Parameters wanted(nodeParams);
    return CU(cuGraphNodeSetParams)(node, wanted.get());
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                       cudaGraphNodeParams *nodeParams) {
    Parameters wanted(nodeParams);
    return CU(cuGraphExecNodeSetParams)(graphExec, node, wanted.get());
}

#endif

} // namespace sim::runtime
