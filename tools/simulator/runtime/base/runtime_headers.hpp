// CUDA's runtime headers, on top of the driver's, with no name turned into another by a macro.
#pragma once

#include "driver/base/cuda_headers.hpp"

#include <cuda_runtime_api.h>
