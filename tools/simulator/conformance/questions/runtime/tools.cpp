// Helpers for questions about the runtime API.
#include "../../runtime_questions.hpp"
#include "../../trace.hpp"

#include <cstdio>
#include <unistd.h>

#include <sys/wait.h>

namespace record::QUESTIONS::runtime {

bool begin() {
    return r.cudaSetDevice(0) == cudaSuccess && r.cudaFree(nullptr) == cudaSuccess;
}

void *kernel([[maybe_unused]] const char *name) {
#if CUDART_VERSION >= 12000
    static CUlibrary library = nullptr;
    if (library == nullptr) {
        d.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    }
    CUkernel found = MAKE(cuLibraryGetKernel, library, name);
    return found;
#else
    return nullptr;
#endif
}

void in_child(void (*body)()) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30); // a child does not inherit its parent's alarm
        body();
        trace::print(); // the parent does not see these calls
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    note("the child's end", status);
}

int shared_descriptor(std::size_t &size) {
    CUmemAllocationProp property{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle = 0;
    int fd = -1;
    d.cuMemGetAllocationGranularity(&size, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (d.cuMemCreate(&handle, size, &property, 0) == CUDA_SUCCESS) {
        d.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        d.cuMemRelease(handle);
    }
    return fd;
}

} // namespace record::QUESTIONS::runtime
