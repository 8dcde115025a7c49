// Destroys graphs and executable graphs.
#pragma once

#include "api.hpp"
#include "context/in_context.hpp"

namespace cushim::detail {

// The result of destroy(), which is passed the API to call. The runtime is called only in the
// context, since it would otherwise initialize the primary one. The driver needs no context and
// accepts the runtime's handles, also after a reset, when the context cannot be entered. Names only
// the driver's API, so that programs without graphs of the runtime do not contain the other.
template <class Destroy>
Destroyed destroy_by(const InContext &in, const GraphApi &api, Destroy destroy) noexcept {
    if (&api != &driver_graphs && !in.InContext::is_gone()) [[unlikely]] {
        const auto scope = ContextScope::enter(in.context);
        if (scope) {
            return destroy(api);
        }
        report_teardown(not_entered(scope.error(), in.context));
    }
    return destroy(driver_graphs);
}

} // namespace cushim::detail
