// CUDA's runtime headers, on top of the driver's, with no name turned into another by a macro.
#pragma once

#include "driver/core/cuda_headers.hpp"

#include <cuda_runtime_api.h>
#if __has_include(<cuda_profiler_api.h>)
#include <cuda_profiler_api.h>
#endif
