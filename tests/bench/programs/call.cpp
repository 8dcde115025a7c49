/* The ways to call; a macro selects one. */
#if defined(TABLE) || defined(ABSENT)
#include <cushim/driver_table.hpp>
#endif
#ifdef ABSENT
#include <cushim/runtime_table.hpp>
#endif
#ifdef GREETER
#include "greeter.h"
#endif
#ifdef GREETER_TABLE
#include <cushim/greeter_table.hpp>
#endif
#ifdef ONCE
#include <mutex>
#endif

#include "call_loop.hpp"

#include <cuda_runtime_api.h>

#if defined(DIRECT) /* the library that the program is linked to */
static CUresult call(unsigned int flags) {
    return cuInit(flags);
}
#elif defined(RUNTIME) /* a cheap call, whose status depends on the driver */
static CUresult call(unsigned int) {
    return cudaPeekAtLastError() == cudaErrorUnknown ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}
#elif defined(TABLE)
static CUresult call(unsigned int flags) {
    return cushim::driver().cuInit(flags);
}
#elif defined(GREETER) /* the drop-in of a further library */
static CUresult call(unsigned int flags) {
    return static_cast<CUresult>(greeter_wave(static_cast<int>(flags)));
}
#elif defined(GREETER_TABLE)
static CUresult call(unsigned int flags) {
    return static_cast<CUresult>(cushim::greeter().greeter_wave(static_cast<int>(flags)));
}
#elif defined(ABSENT)         /* without a library; ABSENT is the expected result of a call */
static CUresult call(unsigned int) {
    [[maybe_unused]] constexpr int no_driver = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
    [[maybe_unused]] constexpr int no_runtime = cudaErrorInsufficientDriver;
    [[maybe_unused]] CUdeviceptr memory = 0;
    [[maybe_unused]] int count = 1;
    return (ABSENT) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
#elif defined(STATIC_POINTER) /* tested for null: the usual hand-written loader */
static CUresult call(unsigned int flags) {
    static const auto function = reinterpret_cast<Function>(dlsym(open_library(), "cuInit"));
    if (function == nullptr) {
        return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
    }
    return function(flags);
}
#elif defined(ONCE)
[[gnu::noinline]] static Function find() {
    static std::once_flag once;
    static Function function;
    std::call_once(once,
                   [] { function = reinterpret_cast<Function>(dlsym(open_library(), "cuInit")); });
    return function;
}

static CUresult call(unsigned int flags) {
    return find()(flags);
}
#elif defined(DLSYM) /* looks the name up in every call */
static void *library = open_library();

static CUresult call(unsigned int flags) {
    return reinterpret_cast<Function>(dlsym(library, "cuInit"))(flags);
}
#endif
