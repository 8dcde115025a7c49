/* A C program with a copy of cushim.h and cushim.c. */
#include "cushim.h"

#include <stdio.h>

#if CUSHIM_AMALGAMATION_CUDA_VERSION < 11040
#error "no version"
#endif

int main(void) {
    char report[4096];
    cushim_load(CUSHIM_LIBRARY_RUNTIME);
    cushim_report_text(report, sizeof report);
    printf("cushim %s, absent status %d\n%s", CUSHIM_AMALGAMATION_VERSION,
           cushim_absent_status(CUSHIM_LIBRARY_DRIVER), report);
    return 0;
}
