// Nodes of external semaphores, in either API.
#pragma once

#include <vector>

#include "api.hpp"
#include "base/with_memory.hpp"

namespace cushim::detail {

/* Traits say what one API takes and calls for signals, or for waits:
 *     Node, Operation, Semaphore            its types
 *     semaphore(handle)                     a CUexternalSemaphore as its own
 *     operation(SemaphoreOperation)
 *     add(place, node), set(of, node), exec_set(exec, of, node)
 * CUDA copies the arrays. */
template <class Traits>
struct SemaphoreCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        return with_native(parameters,
                           [&](const auto &native) { return Traits::add(place, native); });
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        return with_native(parameters,
                           [&](const auto &native) { return Traits::set(node, native); });
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        return with_native(
            parameters, [&](const auto &native) { return Traits::exec_set(exec, node, native); });
    }

  private:
    template <class Use>
    static Result<void> with_native(const NodeParameters &parameters, const Use &use) noexcept {
        return with_memory([&]() -> Result<void> {
            const auto &node = parameters.as<SemaphoreNode>();
            std::vector<typename Traits::Semaphore> semaphores;
            std::vector<typename Traits::Operation> operations;
            for (std::size_t index = 0; index < node.count; ++index) {
                semaphores.push_back(Traits::semaphore(node.operations[index].semaphore));
                operations.push_back(Traits::operation(node.operations[index]));
            }
            typename Traits::Node native{};
            native.extSemArray = semaphores.data();
            native.paramsArray = operations.data();
            native.numExtSems = static_cast<unsigned int>(node.count);
            return use(native);
        });
    }
};

// --- reading

// Of either API's structs, which have the same members; those of signals have no time.
template <class Operation>
SemaphoreNodeParams semaphore_params(const Operation &operation) noexcept {
    constexpr unsigned int skips = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC |
                                   CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC;
    SemaphoreNodeParams params;
    params.value = operation.params.fence.value;
    params.key = operation.params.keyedMutex.key;
    if constexpr (requires { operation.params.keyedMutex.timeoutMs; }) {
        params.timeout_ms = operation.params.keyedMutex.timeoutMs;
    }
    params.fence = operation.params.nvSciSync.fence;
    params.skip_memory_sync = (operation.flags & skips) != 0;
    return params;
}

// The arrays are the node's.
template <class Node>
Result<void> read_semaphores(const Node &node, SemaphoreParams *to) noexcept {
    return with_memory([&]() -> Result<void> {
        to->reserve(node.numExtSems);
        for (unsigned int index = 0; index < node.numExtSems; ++index) {
            SemaphoreNodeParams params = semaphore_params(node.paramsArray[index]);
            params.semaphore = reinterpret_cast<CUexternalSemaphore>(node.extSemArray[index]);
            to->push_back(params);
        }
        return {};
    });
}

} // namespace cushim::detail
