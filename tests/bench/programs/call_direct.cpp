/* The call goes to the library that the program is linked with: through the PLT, or, compiled with
 * -fno-plt, through the global offset table. */
#include "call_loop.hpp"

static CUresult call(unsigned int flags) {
    return cuInit(flags);
}
