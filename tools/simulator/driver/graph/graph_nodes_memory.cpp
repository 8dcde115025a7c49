// Copy and memset nodes.
#include "driver_functions.hpp"
#include "graph/graph_nodes.hpp"
#include "memory/copy.hpp"
#include "memory/memset.hpp"

namespace sim {
namespace {

// Both structures have the same fields under other names; the simpler one has reserved fields in
// place of the contexts.
CUDA_MEMCPY3D_PEER with_contexts(const CUDA_MEMCPY3D &p, CUcontext context) {
    CUDA_MEMCPY3D_PEER copy = {};
    copy.srcXInBytes = p.srcXInBytes;
    copy.srcY = p.srcY;
    copy.srcZ = p.srcZ;
    copy.srcLOD = p.srcLOD;
    copy.srcMemoryType = p.srcMemoryType;
    copy.srcHost = p.srcHost;
    copy.srcDevice = p.srcDevice;
    copy.srcArray = p.srcArray;
    copy.srcContext = context;
    copy.srcPitch = p.srcPitch;
    copy.srcHeight = p.srcHeight;
    copy.dstXInBytes = p.dstXInBytes;
    copy.dstY = p.dstY;
    copy.dstZ = p.dstZ;
    copy.dstLOD = p.dstLOD;
    copy.dstMemoryType = p.dstMemoryType;
    copy.dstHost = p.dstHost;
    copy.dstDevice = p.dstDevice;
    copy.dstArray = p.dstArray;
    copy.dstContext = context;
    copy.dstPitch = p.dstPitch;
    copy.dstHeight = p.dstHeight;
    copy.WidthInBytes = p.WidthInBytes;
    copy.Height = p.Height;
    copy.Depth = p.Depth;
    return copy;
}

CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER &p) {
    CUDA_MEMCPY3D copy = {};
    copy.srcXInBytes = p.srcXInBytes;
    copy.srcY = p.srcY;
    copy.srcZ = p.srcZ;
    copy.srcLOD = p.srcLOD;
    copy.srcMemoryType = p.srcMemoryType;
    copy.srcHost = p.srcHost;
    copy.srcDevice = p.srcDevice;
    copy.srcArray = p.srcArray;
    copy.srcPitch = p.srcPitch;
    copy.srcHeight = p.srcHeight;
    copy.dstXInBytes = p.dstXInBytes;
    copy.dstY = p.dstY;
    copy.dstZ = p.dstZ;
    copy.dstLOD = p.dstLOD;
    copy.dstMemoryType = p.dstMemoryType;
    copy.dstHost = p.dstHost;
    copy.dstDevice = p.dstDevice;
    copy.dstArray = p.dstArray;
    copy.dstPitch = p.dstPitch;
    copy.dstHeight = p.dstHeight;
    copy.WidthInBytes = p.WidthInBytes;
    copy.Height = p.Height;
    copy.Depth = p.Depth;
    return copy;
}

} // namespace

NodeContent copy_content(const CUDA_MEMCPY3D &parameters, CUcontext context) {
    require(parameters.reserved0 == nullptr && parameters.reserved1 == nullptr);
    NodeContent content;
    content.context = context;
    content.work = copy_work(with_contexts(parameters, context), "memcpy node");
    return content;
}

NodeContent memset_content(const CUDA_MEMSET_NODE_PARAMS &p, CUcontext context) {
    NodeContent content;
    content.context = content.home = context;
    content.work =
        memset_work({p.dst, p.pitch, p.value, p.elementSize, p.width, p.height}, "memset node");
    return content;
}

CUDA_MEMCPY3D copy_parameters(const NodeContent &content) {
    return without_contexts(std::any_cast<const CUDA_MEMCPY3D_PEER &>(content.work.parameters));
}

CUDA_MEMSET_NODE_PARAMS memset_parameters(const NodeContent &content) {
    const auto &p = std::any_cast<const MemsetParameters &>(content.work.parameters);
    CUDA_MEMSET_NODE_PARAMS shown = {};
    shown.dst = p.address;
    shown.pitch = p.pitch;
    shown.value = p.value;
    shown.elementSize = p.element_size;
    shown.width = p.width;
    shown.height = p.height;
    return shown;
}

namespace driver {

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_MEMCPY3D *copyParams, CUcontext ctx) {
    require(copyParams != nullptr);
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return copy_content(*copyParams, ctx); });
    return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams) {
    require(nodeParams != nullptr);
    *nodeParams = copy_parameters(node_of(hNode, CU_GRAPH_NODE_TYPE_MEMCPY).content);
    return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hNode, copy_content(*nodeParams, node_of(hNode).content.context));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMCPY3D *copyParams, CUcontext ctx) {
    require(copyParams != nullptr);
    set_content(hGraphExec, hNode, copy_content(*copyParams, ctx));
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx) {
    require(memsetParams != nullptr);
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return memset_content(*memsetParams, ctx); });
    return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    *nodeParams = memset_parameters(node_of(hNode, CU_GRAPH_NODE_TYPE_MEMSET).content);
    return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hNode, memset_content(*nodeParams, node_of(hNode).content.context));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                        CUcontext ctx) {
    require(memsetParams != nullptr);
    set_content(hGraphExec, hNode, memset_content(*memsetParams, ctx));
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
