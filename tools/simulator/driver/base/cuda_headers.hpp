// CUDA's headers with every ABI version declared and without macros that rename functions.
#pragma once

#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
