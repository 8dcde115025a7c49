// The same work through cushim.
#include "first_use_program.hpp"

#include <cushim/driver_table.hpp>
#include <cushim/loader.h>
#include <cushim/runtime_table.hpp>

int first_version(const Arguments &) {
    int version = 0;
    return cushim::driver().cuDriverGetVersion(&version) == CUDA_SUCCESS ? version : -1;
}

int first_init(const Arguments &) {
    return cushim::driver().cuInit(0);
}

int first_runtime_call(const Arguments &) {
    return cushim::runtime().cudaDeviceSynchronize();
}

int resolve_all(const Arguments &) {
    return static_cast<int>(cushim_resolve_all(CUSHIM_LIBRARY_DRIVER));
}
