// Adding and setting nodes of every kind.
#pragma once

#include <cushim/detail/node_kinds.hpp>

#include <array>
#include <memory>
#include <span>

#include "base/with_memory.hpp"
#include "kept_resources.hpp"
#include "kind.hpp"
#include "state.hpp"

namespace cushim::detail {

// Adds a node that waits for the nodes `before`, and keeps alive what it uses. Takes ownership of
// the closure. The caller adds its name to errors.
Result<GraphNode> add_node(const Graph &graph, std::span<const GraphNode> before,
                           const NodeParameters &node, const NodeUses &uses) noexcept;

// Calls CUDA to destroy a node. The graph's state is unchanged.
Result<void> destroy_native_node(Api api, CUgraphNode node) noexcept;

// Whether an existing node can get these parameters; `remedy` is for a copy or fill of 0 elements.
Result<void> check_replacement(const NodeParameters &to, const char *remedy) noexcept;

// How an error names an element: "edges[2].from".
struct ArrayName {
    const char *array;
    const char *member = "";
};

// The handles of existing nodes; more than 16 are stored on the heap.
class NodeHandles {
  public:
    Result<void> fill(const GraphState &graph, std::span<const GraphNode> nodes,
                      const ArrayName &name) noexcept;

    // Null without nodes, as CUDA requires.
    const CUgraphNode *data() const noexcept {
        return count_ == 0 ? nullptr : many_ ? many_.get() : few_.data();
    }
    std::size_t size() const noexcept { return count_; }

  private:
    std::array<CUgraphNode, 16> few_;
    std::unique_ptr<CUgraphNode[]> many_;
    std::size_t count_ = 0;
};

} // namespace cushim::detail
