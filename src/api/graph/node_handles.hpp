// Names of nodes as CUDA takes them.
#pragma once

#include <array>
#include <memory>
#include <new>
#include <span>

#include "state.hpp"

namespace cushim::detail {

// Handles of nodes that are there, in memory of its own where they are many.
class NodeHandles {
  public:
    Result<void> fill(const GraphIdentity &identity,
                      const GraphDependencies &dependencies) noexcept {
        if (!dependencies.is_complete()) {
            return no_host_memory();
        }
        return fill(identity, dependencies.nodes());
    }
    Result<void> fill(const GraphIdentity &identity, std::span<const GraphNode> nodes) noexcept {
        CUgraphNode *to = few_.data();
        if (nodes.size() > few_.size()) {
            many_.reset(new (std::nothrow) CUgraphNode[nodes.size()]);
            to = many_.get();
            if (to == nullptr) {
                return no_host_memory();
            }
        }
        for (const GraphNode &node : nodes) {
            if (!node || !identity.has(node)) {
                return check_node(identity, node); // which says why
            }
            to[count_++] = node.native();
        }
        return {};
    }

    // Null for none, as CUDA wants it.
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
