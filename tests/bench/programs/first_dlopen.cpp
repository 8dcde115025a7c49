/* What no loader can do without: open the library and look the name up. Takes the file names from
 * BENCH_DRIVER and BENCH_RUNTIME. As cushim does, it opens the driver before the runtime. */
#include <dlfcn.h>
#include <stdlib.h>

#include "first_call.hpp"

static int first_driver_call() {
    void *driver = dlopen(getenv("BENCH_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    const auto function = reinterpret_cast<int (*)(unsigned int)>(dlsym(driver, "cuInit"));
    return function(0);
}

static int first_runtime_call() {
    if (dlopen(getenv("BENCH_DRIVER"), RTLD_NOW | RTLD_LOCAL) == nullptr)
        return 2;
    void *runtime = dlopen(getenv("BENCH_RUNTIME"), RTLD_NOW | RTLD_LOCAL);
    const auto function = reinterpret_cast<int (*)()>(dlsym(runtime, "cudaDeviceSynchronize"));
    return function();
}
