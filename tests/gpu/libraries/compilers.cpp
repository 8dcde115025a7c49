// NVRTC compiles a kernel, nvJitLink links it with a second one, and the driver launches the
// result.
#include "call.hpp"

#if defined(USE_TABLES)
#include <cushim/nvjitlink_table.hpp>
#include <cushim/nvrtc_table.hpp>
#else
#include <nvJitLink.h>
#include <nvrtc.h>
#endif

#include <string>

namespace {

constexpr char kernel_source[] = R"(
extern "C" __device__ float twice(float value);
extern "C" __global__ void scale(float *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] = twice(values[i]) + 1.0f;
}
)";
constexpr char function_source[] = R"(
extern "C" __device__ float twice(float value) { return 2.0f * value; }
)";

// Compiled to the LTO intermediate form.
std::vector<char> compile(const char *source, const std::string &architecture) {
    nvrtcProgram program;
    REQUIRE_OK(CALL(nvrtc, nvrtcCreateProgram)(&program, source, "source.cu", 0, nullptr, nullptr));
    const std::string option = "--gpu-architecture=compute_" + architecture;
    const char *options[] = {option.c_str(), "-dlto", "--relocatable-device-code=true"};
    REQUIRE_OK(CALL(nvrtc, nvrtcCompileProgram)(program, 3, options));
    std::size_t size = 0;
    REQUIRE_OK(CALL(nvrtc, nvrtcGetLTOIRSize)(program, &size));
    std::vector<char> code(size);
    REQUIRE_OK(CALL(nvrtc, nvrtcGetLTOIR)(program, code.data()));
    REQUIRE_OK(CALL(nvrtc, nvrtcDestroyProgram)(&program));
    return code;
}

std::vector<char> link(const std::vector<std::vector<char>> &parts,
                       const std::string &architecture) {
    const std::string option = "-arch=sm_" + architecture;
    const char *options[] = {option.c_str(), "-lto"};
    nvJitLinkHandle linker;
    REQUIRE_OK(CALL(nvjitlink, nvJitLinkCreate)(&linker, 2, options));
    for (const std::vector<char> &part : parts) {
        REQUIRE_OK(CALL(nvjitlink, nvJitLinkAddData)(linker, NVJITLINK_INPUT_LTOIR, part.data(),
                                                     part.size(), "part"));
    }
    REQUIRE_OK(CALL(nvjitlink, nvJitLinkComplete)(linker));
    std::size_t size = 0;
    REQUIRE_OK(CALL(nvjitlink, nvJitLinkGetLinkedCubinSize)(linker, &size));
    std::vector<char> cubin(size);
    REQUIRE_OK(CALL(nvjitlink, nvJitLinkGetLinkedCubin)(linker, cubin.data()));
    REQUIRE_OK(CALL(nvjitlink, nvJitLinkDestroy)(&linker));
    return cubin;
}

} // namespace

int library_calls() {
    int major = 0, minor = 0;
    REQUIRE_OK(CALL(nvrtc, nvrtcVersion)(&major, &minor));
    std::printf("NVRTC %d.%d: %s\n", major, minor,
                CALL(nvrtc, nvrtcGetErrorString)(NVRTC_ERROR_COMPILATION));
    REQUIRE_OK(CALL(runtime, cudaFree)(nullptr)); // makes the primary context current
    int capability[2] = {};
    REQUIRE_OK(CALL(runtime, cudaDeviceGetAttribute)(&capability[0],
                                                     cudaDevAttrComputeCapabilityMajor, 0));
    REQUIRE_OK(CALL(runtime, cudaDeviceGetAttribute)(&capability[1],
                                                     cudaDevAttrComputeCapabilityMinor, 0));
    const std::string architecture = std::to_string(capability[0]) + std::to_string(capability[1]);
    const std::vector<char> cubin =
        link({compile(kernel_source, architecture), compile(function_source, architecture)},
             architecture);
    CUmodule module;
    CUfunction kernel;
    REQUIRE_OK(CALL(driver, cuModuleLoadData)(&module, cubin.data()));
    REQUIRE_OK(CALL(driver, cuModuleGetFunction)(&kernel, module, "scale"));
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i);
    }
    OnDevice<float> memory(values);
    float *data = memory.data();
    int count = static_cast<int>(values.size());
    void *arguments[] = {&data, &count};
    REQUIRE_OK(
        CALL(driver, cuLaunchKernel)(kernel, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
    REQUIRE_OK(CALL(driver, cuCtxSynchronize)());
    print_values("kernel", memory.values());
    REQUIRE_OK(CALL(driver, cuModuleUnload)(module));
    return 0;
}
