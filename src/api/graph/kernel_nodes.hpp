// Launch attributes of kernel nodes, which separate calls set. Numbers and values are the same in
// both APIs.
#pragma once

#include <array>

#include "api.hpp"
#include "kernel/launch_config.hpp"

namespace cushim::detail {

// A CUlaunchAttributeValue, which is missing or smaller in older headers. Unset parts are zero.
struct alignas(8) NodeAttributeValue {
    std::array<unsigned int, 16> words = {};
};

// The calls of one API.
struct KernelNodeCalls {
    Result<void> (*get)(CUgraphNode node, unsigned int id, NodeAttributeValue *value) noexcept;
    Result<void> (*set)(CUgraphNode node, unsigned int id,
                        const NodeAttributeValue &value) noexcept;
    Result<void> (*set_parameters)(CUgraphNode node, const KernelNode &to,
                                   CUcontext context) noexcept;
};

// For a new node without attributes.
Result<void> set_asked_attributes(const KernelNodeCalls &calls, CUgraphNode node,
                                  const LaunchConfig &config) noexcept;

// An existing node, in a current context, and its new launch.
struct KernelChange {
    CUgraphNode node;
    const KernelNode &to;
    CUcontext context;
};

/* unsupported_platform unless the node has exactly the attributes of the configuration, since those
 * of an executable graph's node cannot change. */
Result<void> require_same_attributes(const KernelNodeCalls &calls,
                                     const KernelChange &change) noexcept;

/* Sets the node's parameters and attributes from the configuration. Attributes that it does not
 * request get their defaults, except those that only LaunchConfig::more can name. If a call fails,
 * the node is restored. */
Result<void> change_kernel(const KernelNodeCalls &calls, const KernelChange &change) noexcept;

} // namespace cushim::detail
