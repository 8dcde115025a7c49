/* The first call through cushim's tables. */
#include <cushim/driver_table.hpp>
#include <cushim/runtime_table.hpp>

#include "first_call.hpp"

static int first_driver_call() {
    return cushim::driver().cuInit(0);
}

static int first_runtime_call() {
    return cushim::runtime().cudaDeviceSynchronize();
}
