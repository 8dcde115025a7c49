/* Conditional nodes of graphs: if, if-else, while and switch. Since CUDA 12.3.
 *
 *     CUSHIM_TRY(const auto more, graph.create_condition({.initial = 1}));
 *     CUSHIM_TRY(const GraphBody loop, graph.add_while_node({}, more));
 *     CUSHIM_TRY_VOID(loop.body.add_kernel_node({}, step, config, more.native(), data));
 *
 * Bodies are graphs of their own, inside the conditional node: they live as long as it, nodes are added to them
 * as to any graph, and they cannot be instantiated by themselves.
 */
#ifndef CUSHIM_GRAPH_CONDITIONAL_HPP
#define CUSHIM_GRAPH_CONDITIONAL_HPP

#include <cushim/graph.hpp>

namespace cushim {

struct GraphConditionOptions {
    // What each launch begins with. Where it is not set, the value of the launch before stays, and at first is
    // not known.
    unsigned int initial = 0;
    bool assign_initial = true;
};

/* A condition of one conditional node. A name and no owner: it is the graph's. */
class GraphCondition {
  public:
    GraphCondition() noexcept = default;

    // What kernels are given, to set it with cudaGraphSetConditional(). CUgraphConditionalHandle.
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

// A conditional node, read back.
struct ConditionalNodeParams {
    GraphConditionalType type = GraphConditionalType::if_;
    unsigned long long condition = 0; // its condition's native()
    // Each lives as long as the node. Of an if node the second, where there is one, is for 0.
    std::vector<Graph> bodies;
};

} // namespace cushim

#endif
