/* A program that uses CUDA only through a shared library. */
#include <stdio.h>

extern int library_answer(void);
extern int library_count(int *count);

int main(void) {
    int count = 77;
    const int started = library_answer(), counted = library_count(&count);
    printf("library: %d, %d, %d devices\n", started, counted, count);
    return 0;
}
