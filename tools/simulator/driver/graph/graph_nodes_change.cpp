// New parameters for nodes and for steps of executable graphs; disabled nodes.
#include "driver_functions.hpp"
#include "graph/graph_change.hpp"
#include "graph/graph_nodes.hpp"

namespace sim {
namespace {

Step &step_of(CUgraphExec exec_handle, CUgraphNode node_handle) {
    Exec &exec = exec_of(exec_handle);
    Step *step = find_step(exec.plan, node_of(node_handle));
    require(step != nullptr,
            "The node handle is not associated to the executable graph via the most recent "
            "cuGraphExecUpdate or cuGraphInstantiate");
    return *step;
}

void check_type(const Step &step, CUgraphNodeType expected) {
    if (step.type() != expected) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Node type %d does not match the expected value %d",
               static_cast<int>(step.type()), static_cast<int>(expected));
    }
}

// A change of a single step is restricted further than an update from a whole graph. A row may
// become longer or shorter. Recorded: a block may keep its shape, and both ends keep their types of
// memory.
bool may_become(const NodeContent &from, const NodeContent &to) {
    const auto &a = std::any_cast<const CUDA_MEMCPY3D_PEER &>(from.work.parameters);
    const auto &b = std::any_cast<const CUDA_MEMCPY3D_PEER &>(to.work.parameters);
    const bool is_row = a.Height == 1 && a.Depth == 1;
    return a.srcMemoryType == b.srcMemoryType && a.dstMemoryType == b.dstMemoryType &&
           b.WidthInBytes != 0 && a.WidthInBytes != 0 && a.Height == b.Height &&
           a.Depth == b.Depth && (is_row || a.WidthInBytes == b.WidthInBytes);
}

void check_can_be_disabled(CUgraphNodeType type) {
    if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY &&
        type != CU_GRAPH_NODE_TYPE_MEMSET) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Unsupported node type: %d", static_cast<int>(type));
    }
}

} // namespace

void set_content(CUgraphNode handle, NodeContent content) {
    Node &node = node_of(handle, content.work.type);
    if (node.type() == CU_GRAPH_NODE_TYPE_KERNEL) {
        content = with_attributes_of(node.content, std::move(content));
    }
    node.content = std::move(content);
    node.argument_pointers.clear();
}

void set_content(CUgraphExec exec, CUgraphNode handle, NodeContent content) {
    const unsigned long long flags = exec_of(exec).flags;
    Step &step = step_of(exec, handle);
    check_type(step, content.work.type);
    if (step.type() == CU_GRAPH_NODE_TYPE_KERNEL) {
        content = with_attributes_of(step.content, std::move(content));
    }
    if (step.type() == CU_GRAPH_NODE_TYPE_MEMCPY) {
        require(may_become(step.content, content));
    }
    require(change_problem(step, content, flags) == 0);
    step.content = std::move(content);
}

namespace driver {

EXPORT CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                   CUgraph childGraph) {
    const Graph &child = graph_of(childGraph);
    const unsigned long long flags = exec_of(hGraphExec).flags;
    Step &step = step_of(hGraphExec, hNode);
    check_type(step, CU_GRAPH_NODE_TYPE_GRAPH);
    try {
        update_plan(step.plans.front(), child, flags);
    } catch (const UpdateProblem &) { // recorded for a block of another shape
        if (step.plans.front()->steps.size() != child.nodes.size()) {
            explain("Number of nodes created for hGraph and hGraphExec do not match");
        }
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      unsigned int isEnabled) {
    Step &step = step_of(hGraphExec, hNode);
    check_can_be_disabled(step.type());
    step.enabled = isEnabled != 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      OUT unsigned int *isEnabled) {
    require(isEnabled != nullptr);
    const Step &step = step_of(hGraphExec, hNode);
    check_can_be_disabled(step.type());
    *isEnabled = step.enabled ? 1 : 0;
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
