// A libcudart that logs registrations: one line per call, with every argument, appended to the file
// that REGISTRATION_LOG names.
#include "exported.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool gone = false;
int count = 0;

std::string text(const void *pointer) {
    char bytes[32];
    std::snprintf(bytes, sizeof bytes, "%p", pointer);
    return bytes;
}
std::string text(const char *name) {
    return name;
}
std::string text(std::size_t number) {
    return std::to_string(number);
}
std::string text(int number) {
    return std::to_string(number);
}
std::string text(const dim3 &size) {
    return text(int(size.x)) + "," + text(int(size.y)) + "," + text(int(size.z));
}

// Opens the file for each line: the last lines come while the process is ending.
template <class... Arguments>
void write_down(const char *call, const Arguments &...arguments) {
    const char *path = std::getenv("REGISTRATION_LOG");
    std::FILE *file = path != nullptr ? std::fopen(path, "a") : nullptr;
    if (file == nullptr) {
        return;
    }
    const std::string line = (std::string(call) + ... + (" " + text(arguments)));
    std::fprintf(file, "%s%s\n", gone ? "too late: " : "", line.c_str());
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

// The number of registered functions. Must include all that were registered before the caller's
// call.
EXPORTED cudaError_t cudaGetDeviceCount(int *known) {
    *known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    return cudaSuccess;
}

EXPORTED cudaError_t cudaDeviceSynchronize() {
    write_down("cudaDeviceSynchronize");
    return cudaSuccess;
}

// The handle is the code's address plus one, so that a caller who passes the address back is
// noticed.
EXPORTED void *__cudaRegisterFatBinary(void *code) {
    write_down("RegisterFatBinary", code);
    return static_cast<char *>(code) + 1;
}

// Pointers are void *; only names are logged as text.
EXPORTED void __cudaRegisterFatBinaryEnd(void *handle) {
    write_down("RegisterFatBinaryEnd", handle);
}

EXPORTED void __cudaUnregisterFatBinary(void *handle) {
    write_down("UnregisterFatBinary", handle);
}

EXPORTED void __cudaRegisterFunction(void *handle, void *host, void *device, const char *name,
                                     int threads, void *thread, void *block, void *block_size,
                                     void *grid_size, void *warp) {
    write_down("RegisterFunction", handle, host, device, name, threads, thread, block, block_size,
               grid_size, warp);
    __atomic_fetch_add(&count, 1, __ATOMIC_RELEASE);
}

EXPORTED void __cudaRegisterVar(void *handle, void *host, void *device, const char *name,
                                int external, size_t size, int constant, int global) {
    write_down("RegisterVar", handle, host, device, name, external, size, constant, global);
}

EXPORTED void __cudaRegisterManagedVar(void *handle, void *host, void *device, const char *name,
                                       int external, size_t size, int constant, int global) {
    write_down("RegisterManagedVar", handle, host, device, name, external, size, constant, global);
}

EXPORTED void __cudaRegisterHostVar(void *handle, const char *name, void *host, size_t size) {
    write_down("RegisterHostVar", handle, name, host, size);
}

EXPORTED void __cudaRegisterTexture(void *handle, void *host, void *device, const char *name,
                                    int dimensions, int normalized, int external) {
    write_down("RegisterTexture", handle, host, device, name, dimensions, normalized, external);
}

EXPORTED void __cudaRegisterSurface(void *handle, void *host, void *device, const char *name,
                                    int dimensions, int external) {
    write_down("RegisterSurface", handle, host, device, name, dimensions, external);
}

EXPORTED void __cudaRegisterUnifiedTable(void *handle, void *first, void *second, void *third,
                                         void *fourth) {
    write_down("RegisterUnifiedTable", handle, first, second, third, fourth);
}

EXPORTED char __cudaInitModule(void *handle) {
    write_down("InitModule", handle);
    return 7;
}

EXPORTED unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
    write_down("PushCallConfiguration", grid, block, shared, stream);
    return 0;
}

EXPORTED cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *, size_t *, void *) {
    write_down("PopCallConfiguration");
    grid->x = 9;
    return cudaSuccess;
}

EXPORTED cudaError_t __cudaGetKernel(void **kernel, void *host) {
    write_down("GetKernel", host);
    *kernel = reinterpret_cast<void *>(0x77);
    return cudaSuccess;
}

EXPORTED cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void *arguments,
                                        size_t shared, void *stream) {
    write_down("LaunchKernel", kernel, grid, block, arguments, shared, stream);
    return cudaErrorLaunchTimeout;
}

EXPORTED cudaError_t __cudaLaunchKernel_ptsz(void *kernel, dim3 grid, dim3 block, void *arguments,
                                             size_t shared, void *stream) {
    write_down("LaunchKernel_ptsz", kernel, grid, block, arguments, shared, stream);
    return cudaErrorLaunchOutOfResources;
}
