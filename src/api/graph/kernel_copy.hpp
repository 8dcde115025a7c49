// A kernel node's parameters as they were, to be put back. By the driver's functions for both APIs: libcudart does
// not tell all kernels.
#pragma once

#include <cushim/driver_table.hpp>
#include <cushim/result.hpp>

namespace cushim::detail {

class KernelCopy {
  public:
    KernelCopy() noexcept = default;
    KernelCopy(const KernelCopy &) = delete;
    KernelCopy &operator=(const KernelCopy &) = delete;
    ~KernelCopy();

    // Arguments are the node's own, of sizes that nobody tells: so the copy is a node, too, in a graph of its own.
    Result<void> take(CUgraphNode from) noexcept;
    void restore(CUgraphNode to) const noexcept;

  private:
    CUgraph graph_ = nullptr;
    CUgraphNode node_ = nullptr;
};

} // namespace cushim::detail
