/* The exit flag is set for handlers registered before the loader's, which run after a driver's, and
 * not yet set for handlers registered later.
 *
 * usage: exiting FLAG; 0 if the exit handlers of a library run after all handlers of the program */
#include <cushim/detail/loader.h>

#include "../support/expect.h"

static int flag_in_the_end = 1;
static int ran = 0;

static void check(int exiting) {
    EXPECT_INT(cushim_exiting(), exiting);
    EXPECT_INT(cushim_may_call(cushim_fork_generation()), !exiting);
    ++ran;
}

static void registered_before(void) {
    check(flag_in_the_end);
    EXPECT_INT(ran, 2);
    if (failures != 0) {
        _Exit(1);
    }
}

static void registered_after(void) {
    check(0);
}

int main(int argc, char **argv) {
    flag_in_the_end = number_argument(argc, argv, 1);
    EXPECT_INT(atexit(registered_before), 0);
    EXPECT(cushim_watch_exit());
    EXPECT_INT(atexit(registered_after), 0);
    /* A second call does not move the handler. */
    EXPECT(cushim_watch_exit());
    EXPECT_INT(cushim_exiting(), 0);
    return finish();
}
