// Names of nodes as CUDA takes them.
#pragma once

#include <array>
#include <memory>
#include <new>
#include <span>

#include "graph_state.hpp"

namespace cushim::detail {

// Handles of nodes that are there, in memory of its own where they are many.
class NodeHandles {
  public:
    Result<void> fill(const GraphBook &book, std::span<const GraphNode> nodes) noexcept {
        CUgraphNode *to = few_.data();
        if (nodes.size() > few_.size()) {
            many_.reset(new (std::nothrow) CUgraphNode[nodes.size()]);
            to = many_.get();
            if (to == nullptr) {
                return Error::make({.kind = ErrorKind::out_of_memory, .detail = "no host memory"});
            }
        }
        for (const GraphNode &node : nodes) {
            if (!node || !book.has(node)) {
                return check_node(book, node); // which says why
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
