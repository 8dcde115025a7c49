// What kernel nodes have beyond their structs: launch attributes, which are set by calls of their
// own. Numbers and values are the same in both APIs.
#pragma once

#include <array>

#include "api.hpp"
#include "kernel/launch_config.hpp"

namespace cushim::detail {

// A CUlaunchAttributeValue, which older headers lack, or have smaller. What is not set is zeros.
struct alignas(8) NodeAttributeValue {
    std::array<unsigned int, 16> words = {};
};

// One API's.
struct KernelNodeCalls {
    Result<void> (*get)(CUgraphNode node, unsigned int id, NodeAttributeValue *value) noexcept;
    Result<void> (*set)(CUgraphNode node, unsigned int id,
                        const NodeAttributeValue &value) noexcept;
    Result<void> (*set_parameters)(CUgraphNode node, const KernelNode &to,
                                   CUcontext context) noexcept;
};

inline bool asks_for_attributes(const LaunchConfig &config) noexcept {
    return config.cooperative || has_attributes(config);
}

// For a node that was just added, and has none.
Result<void> set_asked_attributes(const KernelNodeCalls &calls, CUgraphNode node,
                                  const LaunchConfig &config) noexcept;
inline Result<void> set_attributes(const KernelNodeCalls &calls, CUgraphNode node,
                                   const LaunchConfig &config) noexcept {
    return asks_for_attributes(config) ? set_asked_attributes(calls, node, config) : Result<void>();
}

// A node that is there, in a context that is current, and the launch that it is to become.
struct KernelChange {
    CUgraphNode node;
    const KernelNode &to;
    CUcontext context;
};

/* unsupported_platform unless the node has just the attributes that the configuration asks for:
 * those of an executable graph's node stay what they are. */
Result<void> require_same_attributes(const KernelNodeCalls &calls,
                                     const KernelChange &change) noexcept;

/* Sets the node's parameters, and its attributes to those of the configuration: what that does not
 * ask for it does not have then; but attributes that only LaunchConfig::more has a name for stay.
 * Where a call fails, the node becomes what it was. */
Result<void> change_kernel(const KernelNodeCalls &calls, const KernelChange &change) noexcept;

} // namespace cushim::detail
