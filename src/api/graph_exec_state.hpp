// The state behind GraphExec.
#pragma once

#include <cushim/event.hpp>
#include <cushim/stream.hpp>

#include <memory>
#include <vector>

#include "graph_api.hpp"
#include "graph_book.hpp"
#include "graph_uses.hpp"
#include "in_context.hpp"

namespace cushim::detail {

/* What nodes use that were set in the executable graph itself: CUDA has no place to keep that in. It goes with
 * the executable graph, once the last launch is through. */
class ExecUses {
  public:
    // Has room for one more, so that nothing can fail once the node is set.
    Result<void> prepare(const Context &context, const KeptUses *kept) noexcept;
    void keep(std::unique_ptr<KeptUses> kept) noexcept;

    bool empty() const noexcept { return kept_.empty(); }

    // After each launch.
    Result<void> launched(const Stream &stream) noexcept;

    // The executable graph is gone.
    void end() noexcept;

  private:
    std::vector<std::unique_ptr<KeptUses>> kept_;
    Event last_launch_;
    bool was_launched_ = false;
};

struct GraphExecState final : InContext {
    GraphExecState(const Context &in, const GraphApi &of, std::shared_ptr<GraphBook> from) noexcept
        : InContext(in), api(of), book(std::move(from)) {}

    Destroyed destroy() noexcept override {
        const Destroyed destroyed = destroy_exec();
        uses.end();
        return destroyed;
    }

    // As destroy_graph().
    Destroyed destroy_exec() const noexcept {
        const auto scope = ContextScope::enter(context);
        if (scope) {
            return api.exec.destroy(exec);
        }
        report_teardown(not_entered(scope.error(), context));
        return driver_graphs.exec.destroy(exec);
    }

    const GraphApi &api;
    const std::shared_ptr<GraphBook> book; // of the graph that it is from; null: not known
    CUgraphExec exec = nullptr;
    ExecUses uses;
};

} // namespace cushim::detail
