// CUDA's headers with every ABI version declared, and no name turned into another by a macro.
#pragma once

#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
