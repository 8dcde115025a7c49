// Immediate mode: an operation runs as soon as it can, in the thread that made it runnable.
#include "engine/engine.hpp"

namespace sim {
namespace {

Ticket oldest_runnable() {
    const Engine &e = engine();
    Operation *oldest = e.ready.empty() ? nullptr : &e.ready.first();
    for (const Stream *stream : e.polling) {
        for (Operation *operation : stream->polled) {
            if ((oldest == nullptr || is_older(*operation, *oldest)) && is_runnable(*operation)) {
                oldest = operation;
            }
        }
    }
    return oldest != nullptr ? oldest->shared_from_this() : nullptr;
}

} // namespace

void run_all() {
    while (Ticket operation = oldest_runnable()) {
        execute(std::move(operation));
    }
}

} // namespace sim
