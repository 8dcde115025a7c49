/* A first use in .preinit_array, before the C library is initialised. The loader then neither
 * searches nor remembers the failure, settings can still be changed, and the process keeps its
 * environment. */
#include <cushim/loader.h>

#include <stdlib.h>
#include <unistd.h>

#include "../support/expect.h"

extern char **environ;

static int had_environment;
static cushim_state early, reloaded;
static int early_status;

static void use_early(void) {
    had_environment = environ != NULL;
    early = cushim_load(CUSHIM_LIBRARY_RUNTIME);
    reloaded = cushim_reload(CUSHIM_LIBRARY_DRIVER);
    early_status = cushim_absent_status(CUSHIM_LIBRARY_DRIVER);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = use_early;

int main(int count, char **arguments) {
    if (had_environment) {
        return 77; /* another C library */
    }
    EXPECT_INT(early, CUSHIM_STATE_ABSENT);
    EXPECT_INT(reloaded, CUSHIM_STATE_ABSENT);
    EXPECT_INT(early_status, 303);
    EXPECT_INT(cushim_load_report(CUSHIM_LIBRARY_DRIVER)->state, CUSHIM_STATE_NOT_TRIED);
    EXPECT(getenv("CUSHIM_DRIVER") != NULL);
    /* The variable names the driver; if the process has cleared its environment, the settings do.
     */
    const cushim_settings settings = {count > 1 ? arguments[1] : NULL, NULL,
                                      CUSHIM_SEARCH_EVERYWHERE};
    if (count > 1) {
        clearenv();
    }
    EXPECT_INT(cushim_configure(&settings), CUSHIM_CONFIGURE_OK);
    EXPECT_INT(cushim_load(CUSHIM_LIBRARY_DRIVER), CUSHIM_STATE_LOADED);
    if (count == 1) {
        EXPECT_INT(cushim_load(CUSHIM_LIBRARY_RUNTIME), CUSHIM_STATE_LOADED);
    }
    EXPECT_INT(cushim_absent_status(CUSHIM_LIBRARY_DRIVER), 0);
    return finish();
}
