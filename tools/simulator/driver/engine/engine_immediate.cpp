// Immediate mode: an operation runs as soon as it can, in the thread that made it runnable.
#include "engine/engine.hpp"

#include <utility>

namespace sim {
namespace {

Ticket oldest_runnable() {
    Ticket oldest;
    for (Stream *stream : engine().busy) {
        Ticket candidate = runnable_of(*stream);
        if (candidate && (!oldest || candidate->number < oldest->number)) {
            oldest = std::move(candidate);
        }
    }
    return oldest;
}

} // namespace

void run_all() {
    while (Ticket operation = oldest_runnable()) {
        execute(std::move(operation));
    }
}

} // namespace sim
