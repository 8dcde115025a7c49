// Launches as before CUDA 4: separate calls set block shape, shared memory and parameters.
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "kernel/launch.hpp"
#include "kernel/texture.hpp"

#include <cstdint>
#include <cstring>

namespace sim {
namespace {

constexpr std::size_t most_parameter_bytes = 32764;

// Recorded: these calls accept only functions of the current context.
Function &current_function(CUfunction handle) {
    Context &context = current_context();
    return function_in(callable(handle), context);
}

void check_parameter_bytes(const Function &function, std::size_t offset, std::size_t size) {
    if (offset > most_parameter_bytes || size > most_parameter_bytes - offset) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Size of parameters for %s exceeds device limit",
               function.code.name.c_str());
    }
}

void set_parameter(CUfunction handle, int offset, const void *value, std::size_t size) {
    Function &function = current_function(handle);
    LegacyLaunch &legacy = function.legacy;
    require(value != nullptr);
    if (size == 0) {
        return; // recorded: whatever the offset
    }
    require(offset >= 0);
    const std::size_t begin = static_cast<std::size_t>(offset);
    check_parameter_bytes(function, begin, size);
    if (legacy.parameters.size() < begin + size) {
        legacy.parameters.resize(begin + size);
    }
    std::memcpy(legacy.parameters.data() + begin, value, size);
}

void launch(CUfunction handle, int width, int height, CUstream_st &stream, const char *what) {
    Function &function = current_function(handle);
    require(width > 0, "Grid Dimension X must be nonzero");
    require(height > 0, "Grid Dimension Y must be nonzero");
    LegacyLaunch &legacy = function.legacy;
    std::size_t size = legacy.parameters.size();
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, legacy.parameters.data(),
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    launch_into(
        stream,
        kernel_launch(&function,
                      {static_cast<unsigned int>(width), static_cast<unsigned int>(height), 1},
                      legacy.block, legacy.shared_bytes, nullptr, extra),
        what);
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
    Function &function = current_function(hfunc);
    require(x >= 0 && y >= 0 && z >= 0);
    check_block(
        {static_cast<unsigned int>(x), static_cast<unsigned int>(y), static_cast<unsigned int>(z)},
        function.context->device);
    const auto most =
        static_cast<std::int64_t>(max_threads_of(function.code, function.context->device));
    require(x <= most && y <= most && z <= most && std::int64_t(x) * y <= most / z);
    function.legacy.block[0] = static_cast<unsigned int>(x);
    function.legacy.block[1] = static_cast<unsigned int>(y);
    function.legacy.block[2] = static_cast<unsigned int>(z);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
    Function &function = current_function(hfunc);
    const int most =
        max_dynamic_shared_of(function.code, settings_of(function), function.context->device);
    require(bytes <= static_cast<unsigned int>(most));
    function.legacy.shared_bytes = bytes;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
    Function &function = current_function(hfunc);
    check_parameter_bytes(function, 0, numbytes);
    function.legacy.parameters.resize(numbytes);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
    set_parameter(hfunc, offset, &value, sizeof value);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuParamSetf(CUfunction hfunc, int offset, float value) {
    set_parameter(hfunc, offset, &value, sizeof value);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes) {
    set_parameter(hfunc, offset, ptr, numbytes);
    return CUDA_SUCCESS;
}

// Drivers also reject a reference that the kernel does not use; the simulator cannot tell.
// Recorded: the unit is not checked.
EXPORT CUresult cuParamSetTexRef(CUfunction hfunc, int, CUtexref hTexRef) {
    current_function(hfunc);
    checked(hTexRef);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunch(CUfunction f) {
    launch(f, 1, 1, stream_of(nullptr), "cuLaunch");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
    launch(f, grid_width, grid_height, stream_of(nullptr), "cuLaunchGrid");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
    Stream &stream = stream_of(hStream);
    potentially_unsafe_call();
    launch(f, grid_width, grid_height, stream, "cuLaunchGridAsync");
    return CUDA_SUCCESS;
}

} // namespace sim::driver
