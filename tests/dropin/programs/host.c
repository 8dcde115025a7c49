/* A program that calls CUDA itself, and opens libraries that do: says of each what it is answered,
 * and by which file. usage: host LIBRARY... */
#define _GNU_SOURCE
#include <cuda.h>

#include "open_library.h"

#ifdef WITH_LIBRARY /* one is linked to it */
extern int library_init(void);
extern const char *library_serves(void);
#endif

int main(int argc, char **argv) {
    CUresult (*volatile function)(unsigned int) = cuInit;
    Dl_info found;
    int faults = 0;
    for (int i = 1; i < argc; ++i) {
        faults += open_library(argv[i], "library_init", "library_serves");
    }
    const char *own = dladdr((void *)function, &found) ? found.dli_fname : "nobody";
    printf("program: %d by %s\n", (int)cuInit(0), file_name(own));
#ifdef WITH_LIBRARY
    printf("linked: %d by %s\n", library_init(), file_name(library_serves()));
#endif
    return faults;
}
