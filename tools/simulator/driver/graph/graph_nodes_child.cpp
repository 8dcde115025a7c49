// Child graph nodes, and bodies of conditional nodes.
#include "base/immortal.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "graph/graph_nodes.hpp"

#include <map>

namespace sim {
namespace {

// All handles ever created. A kernel may set a condition of a destroyed graph.
std::map<std::uint64_t, std::weak_ptr<Conditional>> &handles() {
    static Immortal<std::map<std::uint64_t, std::weak_ptr<Conditional>>> map;
    return *map;
}

// Removes handles of destroyed graphs whenever the number has doubled since the last sweep.
[[maybe_unused]] void sweep_handles() {
    constexpr std::size_t few = 64;
    static std::size_t limit = few;
    if (handles().size() >= limit) {
        std::erase_if(handles(), [](const auto &entry) { return entry.second.expired(); });
        limit = 2 * handles().size() + few;
    }
}

} // namespace

void add_bodies(Node &node) {
    for (unsigned int i = 0; i < node.content.condition->size; ++i) {
        attach(make_graph(), node);
    }
}

bool set_conditional(std::uint64_t handle, unsigned int value) {
    const auto found = handles().find(handle);
    const auto condition = found == handles().end() ? nullptr : found->second.lock();
    if (!condition) {
        return false;
    }
    condition->value = value;
    return true;
}

std::shared_ptr<Conditional> find_condition(std::uint64_t handle) {
    const auto found = handles().find(handle);
    return found == handles().end() ? nullptr : found->second.lock();
}

NodeContent ChildNode::content() {
    NodeContent content;
    content.work.type = CU_GRAPH_NODE_TYPE_GRAPH;
    content.work.what = "child graph node";
    return content;
}

namespace driver {

EXPORT CUresult cuGraphAddChildGraphNode(OUT CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         CUgraph childGraph) {
    if (childGraph == nullptr) {
        explain("The source graph pointer is NULL");
        refuse(CUDA_ERROR_INVALID_VALUE, "Child graph is not a valid source graph");
    }
    const Graph &child = graph_of(childGraph);
    need_context_for_kernels(child);
    ChildCopy copy(child);
    copy.give_to(new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
                          [](Graph &) { return ChildNode::content(); }));
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
EXPORT CUresult cuGraphConditionalHandleCreate(OUT CUgraphConditionalHandle *pHandle_out,
                                               CUgraph hGraph, CUcontext ctx,
                                               unsigned int defaultLaunchValue,
                                               unsigned int flags) {
    require(pHandle_out != nullptr);
    Graph &graph = graph_of(hGraph);
    if ((flags & ~static_cast<unsigned int>(CU_GRAPH_COND_ASSIGN_DEFAULT)) != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid flags 0x%x", flags);
    }
    checked_context(ctx); // recorded: null is not the current context
    static std::uint64_t last = 0;
    const std::uint64_t handle = (++last << 8) | 1; // unlikely to equal any other number
    const bool assign_default = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0;
    auto condition = std::make_shared<Conditional>(
        Conditional{handle, defaultLaunchValue, assign_default, 0, &graph});
    sweep_handles();
    handles()[handle] = condition;
    graph.conditions.push_back(std::move(condition));
    *pHandle_out = handle;
    return CUDA_SUCCESS;
}
#endif

} // namespace driver
} // namespace sim
