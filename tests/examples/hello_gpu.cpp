// Adds two vectors of a million floats on the GPU, only with the function tables, and checks the
// sums.
//
// The program links no CUDA library and starts on every machine. Without a GPU, it prints the
// reason and a hint and succeeds. With --without-kernels, for the simulator, it does everything
// except running the kernel, and says so.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cushim/table.hpp>

#include "vector_add.hpp"

namespace {

constexpr unsigned int count = 1'000'000;
constexpr unsigned int block_size = 256;
constexpr size_t size = count * sizeof(float); // bytes of one vector

void check(CUresult status, const char *what) {
    if (status == CUDA_SUCCESS) {
        return;
    }
    const char *name = nullptr;
    cushim::driver().cuGetErrorName(status, &name);
    std::fprintf(stderr, "%s: %s\n", what, name != nullptr ? name : "unknown error");
    std::exit(1);
}

// Whether there is a device; otherwise prints the reason.
bool find_device(CUdevice &device) {
    const auto cuda = cushim::driver();
    const CUresult status = cuda.cuInit(0);
    const cushim::LoadReport report = cushim::load_report();
    if (report.driver.state != CUSHIM_STATE_LOADED) {
        std::printf("%s\n%s\n", report.driver.explanation, report.driver.hint);
        return false;
    }
    if (status == CUDA_ERROR_NO_DEVICE) {
        std::printf("%s: it is installed, but finds no GPU\n"
                    "Check that nvidia-smi lists one; a container needs GPU access.\n",
                    report.driver.explanation);
        return false;
    }
    check(status, "cuInit");
    check(cuda.cuDeviceGet(&device, 0), "cuDeviceGet");
    return true;
}

struct Vectors {
    CUdeviceptr a = 0, b = 0, sum = 0;
};

Vectors upload(const std::vector<float> &a, const std::vector<float> &b) {
    const auto cuda = cushim::driver();
    Vectors vectors;
    for (CUdeviceptr *vector : {&vectors.a, &vectors.b, &vectors.sum}) {
        check(cuda.cuMemAlloc(vector, size), "cuMemAlloc");
    }
    check(cuda.cuMemcpyHtoD(vectors.a, a.data(), size), "cuMemcpyHtoD");
    check(cuda.cuMemcpyHtoD(vectors.b, b.data(), size), "cuMemcpyHtoD");
    return vectors;
}

// Runs the kernel once and returns the time on the GPU in milliseconds.
float add(CUfunction kernel, Vectors &vectors) {
    const auto cuda = cushim::driver();
    unsigned int n = count;
    void *arguments[] = {&vectors.a, &vectors.b, &vectors.sum, &n};
    CUevent begin, end;
    check(cuda.cuEventCreate(&begin, CU_EVENT_DEFAULT), "cuEventCreate");
    check(cuda.cuEventCreate(&end, CU_EVENT_DEFAULT), "cuEventCreate");
    check(cuda.cuEventRecord(begin, nullptr), "cuEventRecord");
    check(cuda.cuLaunchKernel(kernel, (count + block_size - 1) / block_size, 1, 1, block_size, 1, 1,
                              0, nullptr, arguments, nullptr),
          "cuLaunchKernel");
    check(cuda.cuEventRecord(end, nullptr), "cuEventRecord");
    check(cuda.cuEventSynchronize(end), "cuEventSynchronize");
    float milliseconds = 0;
    check(cuda.cuEventElapsedTime_v1(&milliseconds, begin, end), "cuEventElapsedTime");
    check(cuda.cuEventDestroy(begin), "cuEventDestroy");
    check(cuda.cuEventDestroy(end), "cuEventDestroy");
    return milliseconds;
}

bool right(const std::vector<float> &a, const std::vector<float> &b,
           const std::vector<float> &sum) {
    for (unsigned int i = 0; i < count; ++i) {
        if (sum[i] != a[i] + b[i]) {
            std::fprintf(stderr, "element %u: %g + %g gave %g\n", i, static_cast<double>(a[i]),
                         static_cast<double>(b[i]), static_cast<double>(sum[i]));
            return false;
        }
    }
    return true;
}

// The check without a kernel: whether data that was copied to the device comes back unchanged.
bool comes_back(CUdeviceptr vector, const std::vector<float> &sent) {
    std::vector<float> received(sent.size());
    check(cushim::driver().cuMemcpyDtoH(received.data(), vector, size), "cuMemcpyDtoH");
    return received == sent;
}

int run_on(CUdevice device, bool with_kernels) {
    const auto cuda = cushim::driver();
    char name[256] = "";
    check(cuda.cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
    CUcontext context;
    check(cuda.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    CUmodule module;
    CUfunction kernel;
    check(cuda.cuModuleLoadData(&module, vector_add_ptx), "cuModuleLoadData");
    check(cuda.cuModuleGetFunction(&kernel, module, "add"), "cuModuleGetFunction");

    std::vector<float> a(count), b(count), sum(count);
    for (unsigned int i = 0; i < count; ++i) {
        a[i] = static_cast<float>(i) * 0.5F;
        b[i] = static_cast<float>(count - i) * 0.25F;
    }
    Vectors vectors = upload(a, b);
    float milliseconds = 0;
    bool fine = false;
    if (with_kernels) {
        add(kernel, vectors); // the first launch moves the kernel to the device
        milliseconds = add(kernel, vectors);
        check(cuda.cuMemcpyDtoH(sum.data(), vectors.sum, size), "cuMemcpyDtoH");
        fine = right(a, b, sum);
    } else {
        fine = comes_back(vectors.a, a) && comes_back(vectors.b, b);
    }

    for (CUdeviceptr vector : {vectors.a, vectors.b, vectors.sum}) {
        check(cuda.cuMemFree(vector), "cuMemFree");
    }
    check(cuda.cuModuleUnload(module), "cuModuleUnload");
    check(cuda.cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
    if (!fine) {
        return 1;
    }
    if (with_kernels) {
        std::printf("%s added %u pairs of floats in %.1f us: every sum is right\n", name, count,
                    static_cast<double>(milliseconds) * 1000);
    } else {
        std::printf("%s took two vectors of %u floats and gave them back\n"
                    "skipped: adding them, which needs a GPU that runs the kernel\n",
                    name, count);
    }
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    // For tests on machines that must have a GPU.
    const bool required = argc > 1 && std::strcmp(argv[1], "--require-gpu") == 0;
    const bool with_kernels = argc < 2 || std::strcmp(argv[1], "--without-kernels") != 0;
    CUdevice device;
    return find_device(device) ? run_on(device, with_kernels) : required ? 1 : 0;
}
