// A libcudart that writes down what a compiler's code registers with it: one line a call, with
// every argument, into the file that REGISTRATION_LOG names.
#include "exported.hpp"

#include <cuda_runtime_api.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

bool gone = false;
int count = 0;

#if defined(__MINGW_PRINTF_FORMAT)
#define PRINTF_FORMAT __MINGW_PRINTF_FORMAT
#else
#define PRINTF_FORMAT printf
#endif

// Each line opens the file anew: the last ones come when the process is nearly over.
__attribute__((format(PRINTF_FORMAT, 1, 2))) void write_down(const char *format, ...) {
    const char *path = std::getenv("REGISTRATION_LOG");
    std::FILE *file = path != nullptr ? std::fopen(path, "a") : nullptr;
    if (file == nullptr) {
        return;
    }
    std::fputs(gone ? "too late: " : "", file);
    std::va_list arguments;
    va_start(arguments, format);
    std::vfprintf(file, format, arguments);
    va_end(arguments);
    std::fputc('\n', file);
    std::fclose(file);
}

struct End {
    ~End() {
        write_down("libcudart is gone");
        gone = true;
    }
} end;

} // namespace

EXPORTED cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

// How many functions are known: a caller must find all that were registered before its call.
EXPORTED cudaError_t cudaGetDeviceCount(int *known) {
    *known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    return cudaSuccess;
}

EXPORTED cudaError_t cudaDeviceSynchronize() {
    write_down("cudaDeviceSynchronize");
    return cudaSuccess;
}

// The handle is the code's address and one: what comes back must be this, not the code.
EXPORTED void **__cudaRegisterFatBinary(void *code) {
    write_down("RegisterFatBinary %p", code);
    return reinterpret_cast<void **>(static_cast<char *>(code) + 1);
}

EXPORTED void __cudaRegisterFatBinaryEnd(void **handle) {
    write_down("RegisterFatBinaryEnd %p", static_cast<void *>(handle));
}

EXPORTED void __cudaUnregisterFatBinary(void **handle) {
    write_down("UnregisterFatBinary %p", static_cast<void *>(handle));
}

EXPORTED void __cudaRegisterFunction(void **handle, const char *host, char *device,
                                     const char *name, int threads, uint3 *thread, uint3 *block,
                                     dim3 *block_size, dim3 *grid_size, int *warp) {
    write_down("RegisterFunction %p %p %p %s %d %p %p %p %p %p", static_cast<void *>(handle),
               static_cast<const void *>(host), static_cast<void *>(device), name, threads,
               static_cast<void *>(thread), static_cast<void *>(block),
               static_cast<void *>(block_size), static_cast<void *>(grid_size),
               static_cast<void *>(warp));
    __atomic_fetch_add(&count, 1, __ATOMIC_RELEASE);
}

EXPORTED void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
                                int external, size_t size, int constant, int global) {
    write_down("RegisterVar %p %p %p %s %d %zu %d %d", static_cast<void *>(handle),
               static_cast<void *>(host), static_cast<void *>(device), name, external, size,
               constant, global);
}

EXPORTED void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                       int external, size_t size, int constant, int global) {
    write_down("RegisterManagedVar %p %p %p %s %d %zu %d %d", static_cast<void *>(handle),
               static_cast<void *>(host), static_cast<void *>(device), name, external, size,
               constant, global);
}

EXPORTED void __cudaRegisterHostVar(void **handle, const char *name, void *host, size_t size) {
    write_down("RegisterHostVar %p %s %p %zu", static_cast<void *>(handle), name, host, size);
}

EXPORTED void __cudaRegisterTexture(void **handle, const void *host, const void **device,
                                    const char *name, int dimensions, int normalized,
                                    int external) {
    write_down("RegisterTexture %p %p %p %s %d %d %d", static_cast<void *>(handle), host,
               static_cast<const void *>(device), name, dimensions, normalized, external);
}

EXPORTED void __cudaRegisterSurface(void **handle, const void *host, const void **device,
                                    const char *name, int dimensions, int external) {
    write_down("RegisterSurface %p %p %p %s %d %d", static_cast<void *>(handle), host,
               static_cast<const void *>(device), name, dimensions, external);
}

EXPORTED void __cudaRegisterUnifiedTable(void **handle, void *first, void *second, void *third,
                                         void *fourth) {
    write_down("RegisterUnifiedTable %p %p %p %p %p", static_cast<void *>(handle), first, second,
               third, fourth);
}

EXPORTED char __cudaInitModule(void **handle) {
    write_down("InitModule %p", static_cast<void *>(handle));
    return 7;
}

EXPORTED unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
    write_down("PushCallConfiguration %u,%u,%u %u,%u,%u %zu %p", grid.x, grid.y, grid.z, block.x,
               block.y, block.z, shared, stream);
    return 0;
}

EXPORTED cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *, size_t *, void *) {
    write_down("PopCallConfiguration");
    grid->x = 9;
    return cudaSuccess;
}

EXPORTED cudaError_t __cudaGetKernel(void **kernel, const void *host) {
    write_down("GetKernel %p", host);
    *kernel = reinterpret_cast<void *>(0x77);
    return cudaSuccess;
}

EXPORTED cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared, cudaStream_t stream) {
    write_down("LaunchKernel %p %u,%u,%u %u,%u,%u %p %zu %p", kernel, grid.x, grid.y, grid.z,
               block.x, block.y, block.z, static_cast<void *>(arguments), shared,
               static_cast<void *>(stream));
    return cudaErrorLaunchTimeout;
}

EXPORTED cudaError_t __cudaLaunchKernel_ptsz(void *kernel, dim3 grid, dim3 block, void **arguments,
                                             size_t shared, cudaStream_t stream) {
    write_down("LaunchKernel_ptsz %p %u,%u,%u %u,%u,%u %p %zu %p", kernel, grid.x, grid.y, grid.z,
               block.x, block.y, block.z, static_cast<void *>(arguments), shared,
               static_cast<void *>(stream));
    return cudaErrorLaunchOutOfResources;
}
