// How the runtime calls the driver: by exported name, with statuses that are the runtime's already.
//
//     CU(cuMemAlloc_v2)(&address, size)          with a context current: the thread's, else its
//     device's
//                                                primary context, retained and made current first
//     CU_ANY(cuDeviceGetCount)(&count)           needs no context
//     CU_SYNC(cuMemcpy)(to, from, size)          cuMemcpy, or cuMemcpy_ptds in a per-thread call
//
// A function that the driver lacks answers CALL_REQUIRES_NEWER_DRIVER (36).
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
        return function ? answer(function(arguments...)) : cudaErrorCallRequiresNewerDriver;
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

// The one entry of a name in this place of the program, of the type of a function that cuda.h
// declares.
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

// The stream that a call of the client means, as one that means the same in every driver function.
inline CUstream stream_of(cudaStream_t stream) noexcept {
    return stream == nullptr && Call::current().per_thread_stream() ? CU_STREAM_PER_THREAD : stream;
}

// Device addresses are pointers to the runtime, and integers to the driver.
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
