// Objects that are used, or destroyed, after their end; owners that are destroyed too early.
#include "tools.hpp"

#include <cstdlib>
#include <sys/mman.h>

namespace bugs {
namespace {

// A pointer that compilers do not follow: they reject the use of a freed one.
using Host = void *volatile;

// Copies from registered memory.
void use_registered(void *host, std::size_t size) {
    DeviceMemory memory(64);
    Stream stream;
    must(cudaHostRegister(host, size, cudaHostRegisterDefault));
    must(cudaMemcpyAsync(memory, host, 64, cudaMemcpyHostToDevice, stream));
    must(cudaStreamSynchronize(stream));
}

} // namespace

void add_lifetime_bugs(Programs &programs) {
    programs["memory is used after its free"] = [](bool buggy) {
        void *memory = allocated(64);
        if (buggy) {
            must(cudaFree(memory));
        }
        ignore(cudaMemset(memory, 0, 64));
        if (!buggy) {
            must(cudaFree(memory));
        }
    };
    programs["memory is freed twice"] = [](bool buggy) {
        void *memory = allocated(64);
        void *const copy = memory;
        must(cudaFree(memory));
        if (!buggy) {
            memory = nullptr;
        }
        ignore(cudaFree(buggy ? copy : memory));
    };
    programs["pinned memory is freed as device memory"] = [](bool buggy) {
        int *memory = pinned(16);
        if (buggy) {
            ignore(cudaFree(memory));
        } else {
            must(cudaFreeHost(memory));
        }
    };
    programs["a stream is used after its destruction"] = [](bool buggy) {
        DeviceMemory memory(64);
        cudaStream_t stream = new_stream();
        if (buggy) {
            must(cudaStreamDestroy(stream));
        }
        ignore(cudaMemsetAsync(memory, 0, 64, stream));
        if (!buggy) {
            must(cudaStreamSynchronize(stream));
            must(cudaStreamDestroy(stream));
        }
    };
    programs["an event is used after its destruction"] = [](bool buggy) {
        cudaEvent_t event = new_event();
        must(cudaEventRecord(event, nullptr));
        if (buggy) {
            must(cudaEventDestroy(event));
        }
        ignore(cudaEventSynchronize(event));
        if (!buggy) {
            must(cudaEventDestroy(event));
        }
    };
    programs["a stream is destroyed after a reset of the device"] = [](bool buggy) {
        cudaStream_t stream = new_stream();
        if (!buggy) {
            must(cudaStreamDestroy(stream));
        }
        must(cudaDeviceReset());
        if (buggy) {
            ignore(cudaStreamDestroy(stream));
        }
    };
    programs["a pool is destroyed before its memory"] = [](bool buggy) {
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        cudaMemPool_t pool = nullptr;
        must(cudaMemPoolCreate(&pool, &properties));
        void *memory = nullptr;
        must(cudaMallocFromPoolAsync(&memory, 64, pool, nullptr));
        if (!buggy) {
            must(cudaFreeAsync(memory, nullptr));
            must(cudaStreamSynchronize(nullptr));
        }
        must(cudaMemPoolDestroy(pool));
    };
    programs["a kernel reads a texture of a freed array"] = [](bool buggy) {
        PrimaryContext context;
        Kernels kernels;
        const auto format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
        cudaArray_t array = nullptr;
        must(cudaMallocArray(&array, &format, 16, 16));
        cudaResourceDesc resource{};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        const cudaTextureDesc description{};
        cudaTextureObject_t texture = 0;
        must(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
        if (buggy) {
            must(cudaFreeArray(array));
        }
        void *parameters[] = {&texture};
        ignore(cuLaunchKernel(kernel_of(kernels, "sample"), 1, 1, 1, 64, 1, 1, 0, nullptr,
                              parameters, nullptr));
        ignore(cudaDeviceSynchronize());
        must(cudaDestroyTextureObject(texture));
        if (!buggy) {
            must(cudaFreeArray(array));
        }
    };
    programs["memory is freed before its copy has ended"] = [](bool buggy) {
        Pinned host(16);
        Stream stream;
        void *memory = allocated(64);
        must(cudaMemcpyAsync(memory, host, 64, cudaMemcpyHostToDevice, stream));
        if (!buggy) {
            must(cudaStreamSynchronize(stream));
        }
        must(cudaFree(memory));
        ignore(cudaStreamSynchronize(stream));
    };
    programs["pinned memory is freed before its copy has ended"] = [](bool buggy) {
        DeviceMemory memory(64);
        Stream stream;
        int *host = pinned(16);
        must(cudaMemcpyAsync(memory, host, 64, cudaMemcpyHostToDevice, stream));
        if (!buggy) {
            must(cudaStreamSynchronize(stream));
        }
        must(cudaFreeHost(host));
        ignore(cudaStreamSynchronize(stream));
    };
    programs["registered memory is never unregistered"] = [](bool buggy) {
        void *host = std::calloc(1, 64);
        use_registered(host, 64);
        if (!buggy) {
            must(cudaHostUnregister(host));
        }
        std::free(host);
    };
    programs["registered memory is freed before it is unregistered"] = [](bool buggy) {
        Host host = std::calloc(1, 64);
        use_registered(host, 64);
        if (buggy) {
            std::free(host);
        }
        must(cudaHostUnregister(host));
        if (!buggy) {
            std::free(host);
        }
    };
    // The C library frees large blocks in the same way.
    programs["registered memory is unmapped before it is unregistered"] = [](bool buggy) {
        constexpr std::size_t page = 4096;
        void *const host =
            mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        use_registered(host, page);
        if (buggy) {
            munmap(host, page);
        }
        must(cudaHostUnregister(host));
        if (!buggy) {
            munmap(host, page);
        }
    };
    // The function runs after its argument has ended.
    programs["a host function outlives its argument"] = [](bool buggy) {
        struct Request {
            bool alive = true, served = false;
        };
        static Request request;
        Stream stream;
        const auto serve = [](void *argument) {
            auto *served = static_cast<Request *>(argument);
            served->served = served->alive;
        };
        must(cudaLaunchHostFunc(stream, serve, &request));
        if (!buggy) {
            must(cudaStreamSynchronize(stream));
        }
        request.alive = false;
        must(cudaStreamSynchronize(stream));
        check(request.served);
    };
}

} // namespace bugs
