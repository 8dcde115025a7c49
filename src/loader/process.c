/* Process events that affect the wrappers: fork and exit. */
#include <cushim/detail/loader.h>

#include "platform/atomics.h"
#include "platform/platform.h"

static int watched = 0;
static int exiting = 0;

static void note_exit(void) {
    CUSHIM_STORE(&exiting, 1);
}

unsigned int cushim_fork_generation(void) {
    return cushim_platform_fork_generation();
}

int cushim_watch_exit(void) {
    if (CUSHIM_LOAD(&watched) != 0) {
        return 1;
    }
    // The flag is set after the registration, so that it implies a registered handler. Threads that
    // race here register it twice, which is harmless.
    if (!cushim_platform_at_exit(note_exit)) {
        return 0;
    }
    CUSHIM_STORE(&watched, 1);
    return 1;
}

int cushim_exiting(void) {
    return CUSHIM_LOAD(&exiting) != 0 || cushim_platform_is_ending();
}

int cushim_may_call(unsigned int generation) {
    return generation == CUSHIM_LOAD(&cushim_platform_known_generation) && cushim_exiting() == 0;
}

cushim_function cushim_exchange_slot(cushim_function *slot, cushim_function function) {
    return (cushim_function)CUSHIM_EXCHANGE(slot, function);
}
