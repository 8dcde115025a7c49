// Host, empty and event nodes.
#include "engine/event_work.hpp"
#include "engine/host_function.hpp"
#include "engine/stream.hpp"
#include "graph/graph_nodes.hpp"

namespace sim {

NodeContent HostNode::content(const Parameters &parameters) {
    require(parameters.fn != nullptr, "Host function cannot be NULL");
    NodeContent content;
    content.work = host_work(parameters.fn, parameters.userData, "host node");
    return content;
}

NodeContent EmptyNode::content() {
    NodeContent content;
    content.work.what = "empty node";
    return content;
}

template <CUgraphNodeType type>
NodeContent EventNode<type>::content(CUevent handle) {
    require(handle != nullptr, "event cannot be NULL");
    NodeContent content;
    if (!Registry::get().ended_with_context(handle)) { // recorded: such an event is accepted
        content.context = checked(handle, CUDA_ERROR_INVALID_VALUE).context;
    }
    content.work = type == CU_GRAPH_NODE_TYPE_EVENT_RECORD
                       ? event_record_work(handle, "event record node")
                       : event_wait_work(handle, "event wait node");
    content.work.type = type;
    content.work.parameters = handle;
    return content;
}

template struct EventNode<CU_GRAPH_NODE_TYPE_EVENT_RECORD>;
template struct EventNode<CU_GRAPH_NODE_TYPE_WAIT_EVENT>;

void HostNode::show(Node &node, Parameters &out) {
    out = std::any_cast<const CUDA_HOST_NODE_PARAMS &>(node.content.work.parameters);
}

} // namespace sim
