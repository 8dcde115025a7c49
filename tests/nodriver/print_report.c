/* Loads both libraries and prints the report, for elevated_test.py.
 *
 * usage: print_report [PLACES], a number for cushim_settings::search */
#include <cushim/loader.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    char text[65536];
    if (argc > 1) {
        const cushim_settings settings = {NULL, NULL, (unsigned int)atoi(argv[1])};
        if (cushim_configure(&settings) != CUSHIM_CONFIGURE_OK) {
            return 1;
        }
    }
    cushim_load(CUSHIM_LIBRARY_RUNTIME);
    cushim_report_text(text, sizeof text);
    fputs(text, stdout);
    return 0;
}
