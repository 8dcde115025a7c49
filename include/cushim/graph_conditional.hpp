/* Conditional nodes of graphs. If and while require CUDA 12.3, if-else and switch CUDA 12.8.
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

// The initial value of a condition.
struct GraphConditionOptions {
    unsigned int initial = 0; // the value at the start of each launch, if assign_initial is set
    // If false, the value of the previous launch remains; before the first launch it is
    // unspecified.
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

// An if or while node, and its body.
struct GraphBody {
    GraphNode node; // the conditional node
    Graph body;     // initially without nodes; valid as long as the node
};
// An if node with an else body.
struct GraphBranches {
    GraphNode node;  // the conditional node
    Graph then_body; // runs if the condition is not 0
    Graph else_body; // runs if the condition is 0
};
// A switch node.
struct GraphCases {
    GraphNode node;            // the conditional node
    std::vector<Graph> bodies; // bodies[i] runs if the condition is i
};

// The parameters of a conditional node, as Graph::conditional_params() returns them.
struct ConditionalNodeParams {
    GraphConditionalType type = GraphConditionalType::if_; // if, while or switch
    unsigned long long condition = 0;                      // native() of its condition
    // Each is valid as long as the node. The second body of an if node, if it has one, runs if the
    // condition is 0.
    std::vector<Graph> bodies;
};

} // namespace cushim

#endif
