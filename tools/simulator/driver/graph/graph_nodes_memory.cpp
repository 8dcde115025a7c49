// Copy and memset nodes.
#include "graph/graph_nodes.hpp"
#include "memory/copy.hpp"
#include "memory/memset.hpp"

namespace sim {

NodeContent MemcpyNode::content(const CUDA_MEMCPY3D &parameters, CUcontext context) {
    require(parameters.reserved0 == nullptr && parameters.reserved1 == nullptr);
    NodeContent content;
    content.context = context;
    content.work = copy_work(with_contexts(parameters, context, context), "memcpy node");
    return content;
}

NodeContent MemsetNode::content(const CUDA_MEMSET_NODE_PARAMS &p, CUcontext context) {
    NodeContent content;
    content.context = content.home = context;
    content.work =
        memset_work({p.dst, p.pitch, p.value, p.elementSize, p.width, p.height}, "memset node");
    return content;
}

void MemcpyNode::show(Node &node, CUDA_MEMCPY3D &out) {
    out = without_contexts(std::any_cast<const CUDA_MEMCPY3D_PEER &>(node.content.work.parameters));
}

void MemsetNode::show(Node &node, CUDA_MEMSET_NODE_PARAMS &out) {
    const auto &p = std::any_cast<const MemsetParameters &>(node.content.work.parameters);
    out = {};
    out.dst = p.address;
    out.pitch = p.pitch;
    out.value = p.value;
    out.elementSize = p.element_size;
    out.width = p.width;
    out.height = p.height;
}

} // namespace sim
