// The same calls in translation units of different modes; see modes.cpp.
#pragma once

namespace support {

// Each uses the plain names: cuMemcpyHtoD, cuStreamQuery, cudaMemcpy, cuGetProcAddress.
struct SpelledCalls {
    void (*copy)();
    void (*stream)();
    void (*runtime_copy)();
    void (*look_up)();
};

SpelledCalls legacy_calls();     // modes_legacy.cpp: no mode
SpelledCalls per_thread_calls(); // modes_per_thread.cpp: CUDA_API_PER_THREAD_DEFAULT_STREAM

// modes_internal.cpp: __CUDA_API_VERSION_INTERNAL, with which the headers declare the older ABI.
void allocate_by_first_abi();
void allocate_by_second_abi();
void copy_2d_by_first_abi();

} // namespace support
