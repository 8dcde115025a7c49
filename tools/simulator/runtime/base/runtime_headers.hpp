// CUDA's driver and runtime headers, without macros that rename functions.
#pragma once

#include "driver/base/cuda_headers.hpp"

#include <cuda_runtime_api.h>
