// Modules, kernels and their arguments.
#include "tools.hpp"

namespace bugs {
namespace {

constexpr int count = 16;
constexpr std::size_t bytes = count * sizeof(int);

// What is needed to launch the kernel.
struct Prepared {
    PrimaryContext context;
    Kernels kernels;
    CUfunction function = kernel_of(kernels);
    DeviceMemory numbers{bytes};
};

} // namespace

void add_kernel_bugs(Programs &programs) {
    programs["a launch has more threads than a block can have"] = [](bool buggy) {
        Prepared p;
        ignore(fill(p.function, p.numbers, count, 1, nullptr, buggy ? 2048 : 1024));
        must(cudaDeviceSynchronize());
    };
    programs["a launch is passed parameters of the wrong size"] = [](bool buggy) {
        Prepared p;
        struct {
            void *numbers;
            int count, value;
        } parameters = {p.numbers, count, 1};
        std::size_t size = buggy ? sizeof(void *) : sizeof parameters;
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters, CU_LAUNCH_PARAM_BUFFER_SIZE,
                         &size, CU_LAUNCH_PARAM_END};
        ignore(cuLaunchKernel(p.function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
        must(cudaDeviceSynchronize());
    };
    programs["a missing kernel is launched"] = [](bool buggy) {
        Prepared p;
        CUfunction function = nullptr;
        ignore(cuModuleGetFunction(&function, p.kernels, buggy ? "filled" : "fill"));
        ignore(fill(function, p.numbers, count, 1));
        must(cudaDeviceSynchronize());
    };
    programs["a kernel is launched after its module was unloaded"] = [](bool buggy) {
        PrimaryContext context;
        DeviceMemory numbers(bytes);
        CUmodule module = load_kernels();
        CUfunction function = kernel_of(module);
        if (buggy) {
            must(cuModuleUnload(module));
        }
        ignore(fill(function, numbers, count, 1));
        must(cudaDeviceSynchronize());
        if (!buggy) {
            must(cuModuleUnload(module));
        }
    };
    programs["a module is unloaded before its kernel has run"] = [](bool buggy) {
        PrimaryContext context;
        DeviceMemory numbers(bytes);
        Stream stream;
        CUmodule module = load_kernels();
        must(fill(kernel_of(module), numbers, count, 1, stream));
        if (!buggy) {
            must(cudaStreamSynchronize(stream));
        }
        must(cuModuleUnload(module));
        ignore(cudaStreamSynchronize(stream));
    };
    programs["a kernel is passed freed memory"] = [](bool buggy) {
        Prepared p;
        void *numbers = allocated(bytes);
        if (buggy) {
            must(cudaFree(numbers));
        }
        ignore(fill(p.function, numbers, count, 1));
        ignore(cudaDeviceSynchronize());
        if (!buggy) {
            must(cudaFree(numbers));
        }
    };
    programs["a kernel is passed bytes instead of a count"] = [](bool buggy) {
        Prepared p;
        ignore(fill(p.function, p.numbers, buggy ? int(bytes) : count, 1));
        ignore(cudaDeviceSynchronize());
    };
    programs["a kernel is launched in the context of another device"] = [](bool buggy) {
        PrimaryContext second(1), first(0);
        Kernels kernels;
        DeviceMemory numbers(bytes);
        must(cuCtxSetCurrent(buggy ? second : first));
        ignore(fill(kernel_of(kernels), numbers, count, 1));
        ignore(cuCtxSynchronize());
        must(cuCtxSetCurrent(first));
    };
}

} // namespace bugs
