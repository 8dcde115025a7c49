/* Conditional nodes of graphs: if, if-else, while and switch. Requires CUDA 12.3.
 *
 *     CUSHIM_TRY(const auto more, graph.create_condition({.initial = 1}));
 *     CUSHIM_TRY(const GraphBody loop, graph.add_while_node({}, more));
 *     CUSHIM_TRY_VOID(loop.body.add_kernel_node({}, step, config, more.native(), data));
 *
 * A body is a graph inside the conditional node. It is valid as long as the node. Nodes are added
 * to it as to any graph; it cannot be instantiated by itself.
 */
#ifndef CUSHIM_GRAPH_CONDITIONAL_HPP
#define CUSHIM_GRAPH_CONDITIONAL_HPP

#include <cushim/graph.hpp>

namespace cushim {

struct GraphConditionOptions {
    // The value at the start of each launch. If unset, the value of the previous launch remains;
    // before the first launch it is unspecified.
    unsigned int initial = 0;
    bool assign_initial = true;
};

/* The condition of one conditional node. A plain value; the graph owns the condition. */
class GraphCondition {
  public:
    GraphCondition() noexcept = default;

    // The argument for kernels, which set it with cudaGraphSetConditional().
    // CUgraphConditionalHandle.
    unsigned long long native() const noexcept { return native_; }

  private:
    friend struct detail::GraphAccess;
    GraphCondition(unsigned long long native, unsigned long long graph) noexcept
        : native_(native), graph_(graph) {}

    unsigned long long native_ = 0;
    unsigned long long graph_ = 0;
};

struct GraphBody {
    GraphNode node;
    Graph body;
};
struct GraphBranches {
    GraphNode node;
    Graph then_body;
    Graph else_body;
};
struct GraphCases {
    GraphNode node;
    std::vector<Graph> bodies;
};

// The parameters of a conditional node, for reading them back.
struct ConditionalNodeParams {
    GraphConditionalType type = GraphConditionalType::if_;
    unsigned long long condition = 0; // native() of its condition
    // Each is valid as long as the node. The second body of an if node, if there is one, is for 0.
    std::vector<Graph> bodies;
};

} // namespace cushim

#endif
