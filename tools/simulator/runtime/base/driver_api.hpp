// Calls of the driver by exported name. They return runtime statuses.
//
//     CU(cuMemAlloc_v2)(&address, size)          needs a current context. If the thread has none,
//                                                its device's primary context is retained and made
//                                                current first
//     CU_ANY(cuDeviceGetCount)(&count)           needs no context
//     CU_SYNC(cuMemcpy)(to, from, size)          cuMemcpy, or cuMemcpy_ptds in a per-thread call
//
// If the driver lacks the function, they return CALL_REQUIRES_NEWER_DRIVER (36).
#pragma once

#include "runtime/base/call.hpp"
#include "runtime/base/driver_library.hpp"
#include "runtime/base/process.hpp"

#include <atomic>

namespace sim::runtime {

template <class Function>
class Entry;
template <class... Arguments>
class Entry<CUresult(Arguments...)> {
  public:
    explicit constexpr Entry(const char *name) noexcept : name_(name) {}

    cudaError_t operator()(Arguments... arguments) const {
        const Pointer function = find();
        return function ? runtime_status(function(arguments...)) : cudaErrorCallRequiresNewerDriver;
    }

  private:
    using Pointer = CUresult(CUDAAPI *)(Arguments...);

    Pointer find() const noexcept {
        Pointer function = pointer_.load(std::memory_order_acquire);
        if (function == nullptr) {
            function = reinterpret_cast<Pointer>(driver_function(name_));
            pointer_.store(function, std::memory_order_release);
        }
        return function;
    }

    const char *name_;
    mutable std::atomic<Pointer> pointer_{nullptr};
};

// The driver entry point for this place in the program, with the type of a function in cuda.h.
#define SIM_RUNTIME_ENTRY(type_of, name)                                                           \
    ([]() -> const ::sim::runtime::Entry<decltype(::type_of)> & {                                  \
        static constinit ::sim::runtime::Entry<decltype(::type_of)> entry(name);                   \
        return entry;                                                                              \
    }())
#define CU_ANY(name) SIM_RUNTIME_ENTRY(name, #name)
#define CU(name) (::sim::runtime::need_context(), CU_ANY(name))
#define CU_SYNC(name)                                                                              \
    (::sim::runtime::need_context(), ::sim::runtime::Call::current().per_thread_stream()           \
                                         ? SIM_RUNTIME_ENTRY(name, #name "_ptds")                  \
                                         : CU_ANY(name))

// The stream of a client call, as a handle with the same meaning in every driver function.
inline CUstream stream_of(cudaStream_t stream) noexcept {
    return stream == nullptr && Call::current().per_thread_stream() ? CU_STREAM_PER_THREAD : stream;
}

// Device addresses are pointers in the runtime and integers in the driver.
inline CUdeviceptr address(const void *pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}
inline void *pointer(CUdeviceptr address) noexcept {
    return reinterpret_cast<void *>(address);
}
static_assert(sizeof(CUdeviceptr) == sizeof(void *));
inline CUdeviceptr *address_out(void **output) noexcept {
    return reinterpret_cast<CUdeviceptr *>(output);
}

} // namespace sim::runtime
