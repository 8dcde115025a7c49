// Short forms for the programs: checks, and owners of the objects that are not part of a mistake.
#pragma once

#include "bug.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cushim_sim.h>

#include <cstddef>
#include <cstdint>

namespace bugs {

// The program's own test of its result. If it is not right, the program prints "wrong result" and
// fails when it ends.
void check(bool right);

// A call that is not part of a mistake. Its failure ends the process.
void must(cudaError_t status);
void must(CUresult status);

// A call whose failure the program prints and handles. Returns whether it failed.
bool failed(cudaError_t status);
bool failed(CUresult status);

// A call whose status the program drops.
template <class Status>
void ignore(Status) {}

const cushim_sim &simulator();
// Plans a fault, in the format of the setting.
void plan_fault(const std::string &fault);

template <class T>
class Owner {
  public:
    Owner() = default;
    Owner(const Owner &) = delete;
    Owner &operator=(const Owner &) = delete;
    operator T() const { return value_; }

  protected:
    T value_{};
};

// Device memory, or another kind of memory of the device.
inline void *allocated(std::size_t size) {
    void *memory = nullptr;
    must(cudaMalloc(&memory, size));
    return memory;
}
struct DeviceMemory : Owner<void *> {
    explicit DeviceMemory(std::size_t size) { value_ = allocated(size); }
    ~DeviceMemory() { failed(cudaFree(value_)); }
};

// Pinned integers.
inline int *pinned(std::size_t count) {
    void *memory = nullptr;
    must(cudaMallocHost(&memory, count * sizeof(int)));
    return static_cast<int *>(memory);
}
struct Pinned : Owner<int *> {
    explicit Pinned(std::size_t count, int value = 0) {
        value_ = pinned(count);
        for (std::size_t i = 0; i < count; ++i) {
            value_[i] = value;
        }
    }
    ~Pinned() { failed(cudaFreeHost(value_)); }
};

inline cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}
// A non-blocking stream.
struct Stream : Owner<cudaStream_t> {
    Stream() { value_ = new_stream(); }
    ~Stream() { failed(cudaStreamDestroy(value_)); }
};

inline cudaEvent_t new_event() {
    cudaEvent_t event = nullptr;
    must(cudaEventCreate(&event));
    return event;
}
struct Event : Owner<cudaEvent_t> {
    Event() { value_ = new_event(); }
    ~Event() { failed(cudaEventDestroy(value_)); }
};

// The primary context of a device, current until the end of the scope: for the driver's functions.
struct PrimaryContext : Owner<CUcontext> {
    explicit PrimaryContext(CUdevice device = 0) : device_(device) {
        must(cuInit(0));
        must(cuDevicePrimaryCtxRetain(&value_, device));
        must(cuCtxSetCurrent(value_));
    }
    ~PrimaryContext() {
        failed(cuCtxSetCurrent(nullptr));
        failed(cuDevicePrimaryCtxRelease(device_));
    }

  private:
    CUdevice device_;
};

inline CUmodule load_kernels() {
    // fill(int *numbers, int count, int value), sample(cudaTextureObject_t texture)
    constexpr char image[] = "cushim-sim-image 1\n"
                             "kernel fill params=8,4,4\n"
                             "kernel sample params=8\n";
    CUmodule module = nullptr;
    must(cuModuleLoadData(&module, image));
    return module;
}
inline CUfunction kernel_of(CUmodule module, const char *name = "fill") {
    CUfunction function = nullptr;
    must(cuModuleGetFunction(&function, module, name));
    return function;
}
struct Kernels : Owner<CUmodule> {
    Kernels() { value_ = load_kernels(); }
    ~Kernels() { failed(cuModuleUnload(value_)); }
};
// Launches the kernel `fill`.
inline CUresult fill(CUfunction function, const void *numbers, int count, int value,
                     CUstream stream = nullptr, unsigned int threads = 64) {
    void *parameters[] = {&numbers, &count, &value};
    return cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
}

} // namespace bugs
