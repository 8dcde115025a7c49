/* The same in C. */
#include <stdio.h>

#include <cushim/loader.h>

int main(void) {
    char report[4096];
    cushim_load(CUSHIM_LIBRARY_RUNTIME);
    cushim_report_text(report, sizeof report);
    printf("cushim %s, absent status %d\n%s", cushim_version(),
           cushim_absent_status(CUSHIM_LIBRARY_DRIVER), report);
    return 0;
}
