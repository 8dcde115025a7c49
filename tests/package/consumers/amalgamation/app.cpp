// A C++ program with a copy of cushim.h and cushim.c.
#include "cushim.h"

#include <cstdio>

int main() {
    const CUresult status = cushim::driver().cuInit(0);
    int count = 77;
    const cudaError_t counted = cushim::runtime().cudaGetDeviceCount(&count);
    std::printf("cuInit %d, cudaGetDeviceCount %d, %d devices\n", static_cast<int>(status),
                static_cast<int>(counted), count);
    return 0;
}
