// Errors that are ignored, and failure paths.
#include "tools.hpp"

namespace bugs {
namespace {

constexpr std::size_t bytes = 64;

} // namespace

void add_error_bugs(Programs &programs) {
    programs["the memory of a failed allocation is used"] = [](bool buggy) {
        plan_fault("cudaMalloc:1:2");
        void *memory = nullptr;
        if (!failed(cudaMalloc(&memory, bytes)) || buggy) {
            ignore(cudaMemset(memory, 0, bytes));
            ignore(cudaFree(memory));
        }
    };
    programs["the output of a failed call is printed"] = [](bool buggy) {
        plan_fault("cudaMemGetInfo:1:999");
        std::size_t available = 0, total = 0;
        const bool known = !failed(cudaMemGetInfo(&available, &total));
        check(!(known || buggy) || available <= (std::size_t(8) << 30));
    };
    programs["the failure path leaks"] = [](bool buggy) {
        plan_fault("cudaMalloc:2:2");
        void *input = nullptr, *output = nullptr;
        if (failed(cudaMalloc(&input, bytes))) {
            return;
        }
        if (failed(cudaMalloc(&output, bytes))) {
            if (!buggy) {
                must(cudaFree(input));
            }
            return;
        }
        must(cudaFree(output));
        must(cudaFree(input));
    };
    programs["the failure path frees twice"] = [](bool buggy) {
        plan_fault("cudaMemset:1:1");
        void *memory = allocated(bytes);
        if (failed(cudaMemset(memory, 0, bytes)) && buggy) {
            must(cudaFree(memory));
        }
        ignore(cudaFree(memory));
    };
    // An asynchronous failure is returned by a later call, and by all calls after it.
    programs["the failure of a kernel is ignored"] = [](bool buggy) {
        PrimaryContext context;
        Kernels kernels;
        Pinned result(1, 0);
        DeviceMemory number(sizeof(int));
        plan_fault("cuLaunchKernel:1:719:async");
        must(fill(kernel_of(kernels), number, 1, 7));
        const bool copied =
            !failed(cudaMemcpy(result, number, sizeof(int), cudaMemcpyDeviceToHost));
        check(!(copied || buggy) || result[0] == 7);
    };
    // The program takes it for an error of the launch.
    programs["an error of an earlier call is left in the thread"] = [](bool buggy) {
        PrimaryContext context;
        Kernels kernels;
        Pinned number(1);
        const cudaError_t again = cudaHostRegister(number, sizeof(int), cudaHostRegisterDefault);
        check(again != cudaSuccess);
        if (!buggy) {
            ignore(cudaGetLastError());
        }
        must(fill(kernel_of(kernels), number, 1, 7));
        check(cudaGetLastError() == cudaSuccess);
        must(cudaDeviceSynchronize());
    };
    programs["a host function calls CUDA"] = [](bool buggy) {
        static void *memory;
        memory = allocated(bytes);
        Stream stream;
        const auto function = [](void *) { ignore(cudaFree(memory)); };
        if (buggy) {
            must(cudaLaunchHostFunc(stream, function, nullptr));
            must(cudaStreamSynchronize(stream));
        } else {
            must(cudaStreamSynchronize(stream));
            function(nullptr);
        }
    };
}

} // namespace bugs
