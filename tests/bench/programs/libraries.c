/* A C program that refers to one function of each of several libraries, and never calls them.
 * FUNCTIONS names them as X(first) X(second); without FUNCTIONS it refers to none.
 *
 * With an argument it prints a line and then waits until its input ends, so that its memory can be
 * read.
 */
#include <stdio.h>

#ifndef FUNCTIONS
#define FUNCTIONS
#endif

/* Without parameters, because the programs are compiled without the libraries' headers. */
#define X(name) int name();
FUNCTIONS
#undef X

int main(int argc, char **argv) {
    (void)argv;
    if (argc == 2) {
        puts("started");
        fflush(stdout);
        return getchar() == EOF ? 0 : 1;
    }
    if (argc < 100) {
        return 0;
    }
#define X(name) name();
    FUNCTIONS
    return 1;
}
