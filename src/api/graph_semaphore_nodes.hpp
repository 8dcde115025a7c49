// Nodes of external semaphores, in either API.
#pragma once

#include <vector>

#include "graph_api.hpp"
#include "with_memory.hpp"

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

} // namespace cushim::detail
