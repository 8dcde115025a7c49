#include "runtime/base/locks.hpp"
#include "runtime/base/platform.hpp"

#include "driver/base/immortal.hpp"

namespace sim::runtime {
namespace {

// Whether the forking thread has taken the locks in the handlers that run before the driver's.
thread_local bool taken_early = false;

void take() {
    locks().registrations.lock();
    locks().contexts.lock();
    locks().search.lock();
}

void give_back() {
    locks().search.unlock();
    locks().contexts.unlock();
    locks().registrations.unlock();
}

void take_late() {
    if (!taken_early) {
        take();
    }
}

void give_back_late() {
    if (!taken_early) {
        give_back();
    }
}

void take_early() {
    take();
    taken_early = true;
}

void give_back_early() {
    taken_early = false;
    give_back();
}

} // namespace

Locks &locks() noexcept {
    static Immortal<Locks> all; // used by static constructors and destructors
    static const bool watched = [] {
        platform::around_fork(take_late, give_back_late, give_back_late);
        return true;
    }();
    (void)watched;
    return *all;
}

// Handlers registered last run first before a fork, and last after it. Handlers registered before
// the driver was loaded run after the driver's, and then do nothing.
void precede_driver_at_fork() noexcept {
    platform::around_fork(take_early, give_back_early, give_back_early);
}

} // namespace sim::runtime
