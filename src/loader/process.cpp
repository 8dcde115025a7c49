/* Process events that affect the wrappers: fork and exit. */
#include <cushim/detail/loader.h>

#include "platform/atomics.hpp"
#include "platform/platform.hpp"

namespace {
int watched = 0;
int exiting = 0;
} // namespace

extern "C" unsigned int cushim_fork_generation(void) noexcept {
    return cushim::platform::fork_generation();
}

extern "C" int cushim_watch_exit(void) noexcept {
    if (cushim::atomics::load(&watched) != 0) {
        return 1;
    }
    // The flag is set after the registration, so that it implies a registered handler. Threads that
    // race here register it twice, which is harmless.
    if (!cushim::platform::at_exit([] { cushim::atomics::store(&exiting, 1); })) {
        return 0;
    }
    cushim::atomics::store(&watched, 1);
    return 1;
}

extern "C" int cushim_exiting(void) noexcept {
    return cushim::atomics::load(&exiting) != 0 || cushim::platform::is_ending();
}

extern "C" int cushim_may_call(unsigned int generation) noexcept {
    return generation == cushim::atomics::load(&cushim::platform::known_generation) &&
           cushim_exiting() == 0;
}

extern "C" cushim_function cushim_exchange_slot(cushim_function *slot,
                                                cushim_function function) noexcept {
    return cushim::atomics::exchange(slot, function);
}
