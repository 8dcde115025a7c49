/* The same from C with the loader's own header: which library is absent, why, and the status of its
 * entry points.
 *
 * usage: status_table_c CU_STATUS CUDA_STATUS; 0 means that there is one */
#include <cushim/loader.h>

#include "../support/expect.h"

static void count_failing(const cushim_entry_point *entry_point, void *user) {
    if (entry_point->status != 0) {
        ++*(size_t *)user;
    }
}

static void nothing(void) {}

static void check_library(cushim_library library, const char *known_name, int status) {
    const cushim_report *report = cushim_load_report(library);
    EXPECT_INT(report->state, CUSHIM_STATE_NOT_TRIED);
    const int absent = status != 0;
    EXPECT_INT(cushim_load(library), absent ? CUSHIM_STATE_ABSENT : CUSHIM_STATE_LOADED);
    EXPECT_INT(cushim_absent_status(library), status);
    EXPECT_INT(cushim_library_version(library) == 0, absent);

    report = cushim_load_report(library);
    EXPECT_INT(report->state == CUSHIM_STATE_ABSENT, absent);
    EXPECT_INT(report->reason == CUSHIM_REASON_NONE, !absent);
    EXPECT(report->explanation[0] != '\0');
    EXPECT_INT(report->hint[0] != '\0', absent);

    cushim_entry_point found;
    EXPECT(cushim_find_entry_point(library, known_name, &found));
    EXPECT_TEXT(found.name, known_name);
    EXPECT_INT(found.status, status);
    EXPECT(!cushim_find_entry_point(library, "cuNoSuchFunction", &found));

    size_t failing = 0;
    const size_t all = cushim_visit_entry_points(library, count_failing, &failing);
    EXPECT(all > 300);
    EXPECT_INT(failing, absent ? all : 0);
    EXPECT_INT(cushim_resolve_all(library), absent ? 0 : all);

    const cushim_function before = cushim_exchange_by_name(library, known_name, nothing);
    EXPECT(before != NULL && before != nothing);
    EXPECT(cushim_exchange_by_name(library, known_name, before) == nothing);
}

static void check_text(void) {
    char text[4096], cut[16];
    memset(cut, 'x', sizeof cut);
    const size_t length = cushim_report_text(text, sizeof text);
    EXPECT_INT(strlen(text), length);
    EXPECT(strstr(text, cushim_load_report(CUSHIM_LIBRARY_DRIVER)->explanation) != NULL);
    EXPECT(strstr(text, cushim_load_report(CUSHIM_LIBRARY_RUNTIME)->explanation) != NULL);
    EXPECT_INT(cushim_report_text(cut, 8), length);
    EXPECT_INT(strlen(cut), 7);
    EXPECT_INT(cut[8], 'x');
    EXPECT_INT(cushim_report_text(NULL, 0), length);
}

int main(int argc, char **argv) {
    check_library(CUSHIM_LIBRARY_DRIVER, "cuMemAlloc_v2", number_argument(argc, argv, 1));
    /* Loading the driver has not loaded the runtime. */
    check_library(CUSHIM_LIBRARY_RUNTIME, "cudaMalloc", number_argument(argc, argv, 2));
    check_text();
    EXPECT(cushim_headers_version() >= 11040);
    return finish();
}
