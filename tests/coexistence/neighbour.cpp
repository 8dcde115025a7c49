// Linked to libcudart or, with NEIGHBOUR_OPENS, opens it by name.
#include "neighbour.h"

#include <cuda_runtime_api.h>

#ifdef NEIGHBOUR_OPENS

#include <dlfcn.h>

namespace {

// By name, which finds a library that the process already has.
template <class Function>
Function *opened(const char *name) {
    void *const library = dlopen(NEIGHBOUR_OPENS, RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Function *>(dlsym(library, name));
}
template <class Function, class... Arguments>
int call_opened(const char *name, Arguments... arguments) {
    Function *const function = opened<Function>(name);
    return function == nullptr ? cudaErrorInsufficientDriver : function(arguments...);
}

} // namespace

#define FUNCTION(name) opened<decltype(name)>(#name)
#define CALL(name, ...) call_opened<decltype(name)>(#name, __VA_ARGS__)

#else

#define FUNCTION(name) (&name)
#define CALL(name, ...) name(__VA_ARGS__)

#endif

#define NEIGHBOUR_DECLARE(type, name, parameters)                                                  \
    extern "C" __attribute__((visibility("default"))) type name parameters;
NEIGHBOUR_FUNCTIONS(NEIGHBOUR_DECLARE)

int neighbour_make(int **memory, const int *values, size_t count) {
    void *made = nullptr;
    const int status = CALL(cudaMalloc, &made, count * sizeof(int));
    *memory = static_cast<int *>(made);
    return status != cudaSuccess ? status : neighbour_write(*memory, values, count);
}

int neighbour_write(int *memory, const int *values, size_t count) {
    return CALL(cudaMemcpy, memory, values, count * sizeof(int), cudaMemcpyHostToDevice);
}

int neighbour_read(const int *memory, int *values, size_t count) {
    return CALL(cudaMemcpy, values, memory, count * sizeof(int), cudaMemcpyDeviceToHost);
}

int neighbour_free(int *memory) {
    return CALL(cudaFree, memory);
}

void *neighbour_malloc() {
    return reinterpret_cast<void *>(FUNCTION(cudaMalloc));
}
