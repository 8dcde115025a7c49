#include "nccl.hpp"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace gpu_test::nccl {
namespace {

// NVLink SHARP is multicast. It needs memory of cuMemCreate's, which NCCL does without, too.
void turn_multicast_off() {
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    setenv("NCCL_CUMEM_ENABLE", "0", 1);
    setenv("NCCL_MNNVL_ENABLE", "0", 1);
}

} // namespace

bool load(const char *library, Functions &functions) {
    turn_multicast_off();
    void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    bool complete = true;
#define NCCL_LOAD(type, name, parameters)                                                          \
    functions.name = reinterpret_cast<type(*) parameters>(dlsym(handle, "nccl" #name));            \
    complete = complete && functions.name != nullptr;
    NCCL_FUNCTIONS(NCCL_LOAD)
#undef NCCL_LOAD
    if (!complete) {
        std::fprintf(stderr, "%s lacks functions: it is older than NCCL 2.13\n", library);
    }
    return complete;
}

} // namespace gpu_test::nccl
