// A program that asks the headers for the older ABI.
#define __CUDA_API_VERSION_INTERNAL 1
#include "modes.hpp"

#include <cushim/table.hpp>

void support::allocate_by_first_abi() {
    CUdeviceptr_v1 memory = 0;
    cushim::driver().cuMemAlloc_v1(&memory, 0x11223344u);
}

void support::allocate_by_second_abi() {
    CUdeviceptr memory = 0;
    cushim::driver().cuMemAlloc_v2(&memory, 0x1122334455667788);
}

void support::copy_2d_by_first_abi() {
    const CUDA_MEMCPY2D_v1 what = {};
    cushim::driver().cuMemcpy2D_v1(&what);
}
