/* The name is looked up for every call. */
#include "call_loop.hpp"

static void *library = open_library();

static CUresult call(unsigned int flags) {
    return reinterpret_cast<Function>(dlsym(library, "cuInit"))(flags);
}
