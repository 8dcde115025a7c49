// The statuses of calls that cannot be forwarded, in each such situation. Outputs are unchanged,
// with the exceptions that table.hpp names.
//
// usage: status_table CU_STATUS CUDA_STATUS; a CU_STATUS of 0 means that there is a driver
#include <cushim/entry.hpp>
#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

#include "../support/expect.h"

namespace {

constexpr auto runtime_untouched = static_cast<cudaError_t>(-77);

void check_driver(int status) {
    const auto cuda = cushim::driver();
    int count = 77;
    CUdeviceptr pointer = 78;
    CUcontext context = nullptr;
    EXPECT_INT(cuda.cuInit(0), status);
    EXPECT_INT(cuda.cuDeviceGetCount(&count), status);
    EXPECT_INT(cuda.cuMemAlloc(&pointer, 1024), status);
    EXPECT_INT(cuda.cuCtxGetCurrent(&context), status);
    EXPECT_INT(cuda.cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
               status);
    EXPECT_INT(count, 77);
    EXPECT_INT(pointer, 78);
    EXPECT(context == nullptr);
    // A second call, when the library is known to be absent.
    EXPECT_INT(cuda.cuInit(0), status);
    const char *text = nullptr;
    EXPECT_INT(cuda.cuGetErrorString(static_cast<CUresult>(status), &text), CUDA_SUCCESS);
    EXPECT_TEXT(text, cushim_load_report(CUSHIM_LIBRARY_DRIVER)->explanation);
}

void check_driver_names() {
    const auto cuda = cushim::driver();
    const char *text = nullptr;
    EXPECT_INT(cuda.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    EXPECT_TEXT(text, "CUDA_ERROR_OUT_OF_MEMORY");
    text = nullptr;
    EXPECT_INT(cuda.cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    EXPECT(text != nullptr && *text != '\0');
    // As the driver does for an unknown status.
    EXPECT_INT(cuda.cuGetErrorName(static_cast<CUresult>(98765), &text), CUDA_ERROR_INVALID_VALUE);
    EXPECT(text == nullptr);
    EXPECT_INT(cuda.cuGetErrorName(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

void check_runtime(int status) {
    const auto cuda = cushim::runtime();
    int count = 77;
    void *pointer = &count;
    EXPECT_INT(cuda.cudaGetDeviceCount(&count), status);
    EXPECT_INT(cuda.cudaMalloc(&pointer, 1024), status);
    EXPECT_INT(cuda.cudaDeviceSynchronize(), status);
    EXPECT_INT(count, 0);
    EXPECT(pointer == &count);
    EXPECT_TEXT(cuda.cudaGetErrorName(static_cast<cudaError_t>(status)),
                status == 35 ? "cudaErrorInsufficientDriver" : "cudaErrorSharedObjectInitFailed");
    EXPECT_TEXT(cuda.cudaGetErrorName(runtime_untouched), "unrecognized error code");
    const cushim_library why = status == 35 ? CUSHIM_LIBRARY_DRIVER : CUSHIM_LIBRARY_RUNTIME;
    EXPECT_TEXT(cuda.cudaGetErrorString(static_cast<cudaError_t>(status)),
                cushim_load_report(why)->explanation);
}

// As in NVIDIA's static libcudart, the versions do not depend on devices.
void check_versions(int status) {
    const auto cuda = cushim::runtime();
    const bool has_driver = status == cudaErrorSharedObjectInitFailed;
    int version = 78;
    (void)cuda.cudaGetLastError();
    EXPECT_INT(cuda.cudaDriverGetVersion(&version), cudaSuccess);
    EXPECT_INT(version, cushim_library_version(CUSHIM_LIBRARY_DRIVER));
    EXPECT_INT(version != 0, has_driver);
    version = 79;
#if CUDART_VERSION < 12000
    if (!has_driver) {
        EXPECT_INT(cuda.cudaRuntimeGetVersion(&version), status);
        EXPECT_INT(version, 79);
        EXPECT_INT(cuda.cudaGetLastError(), status);
        return;
    }
#endif
    EXPECT_INT(cuda.cudaRuntimeGetVersion(&version), cudaSuccess);
    EXPECT_INT(version, CUDART_VERSION);
    EXPECT_INT(cuda.cudaPeekAtLastError(), cudaSuccess);
    EXPECT_INT(cuda.cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
    EXPECT_INT(cuda.cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_INT(cuda.cudaDriverGetVersion(nullptr), cudaErrorInvalidValue);
    EXPECT_INT(cuda.cudaGetLastError(), cudaErrorInvalidValue);
    // A success does not clear an earlier error.
    (void)cuda.cudaDeviceSynchronize();
    EXPECT_INT(cuda.cudaRuntimeGetVersion(&version), cudaSuccess);
    EXPECT_INT(cuda.cudaDriverGetVersion(&version), cudaSuccess);
    EXPECT_INT(cuda.cudaGetLastError(), status);
}

void check_report(const cushim::LibraryReport &report) {
    EXPECT_INT(report.state, CUSHIM_STATE_ABSENT);
    EXPECT(report.reason != CUSHIM_REASON_NONE);
    EXPECT(report.path == nullptr);
    EXPECT_INT(report.version, 0);
    EXPECT(report.explanation != nullptr && *report.explanation != '\0');
    EXPECT(report.hint != nullptr && *report.hint != '\0');
}

void check_errors(int status) {
    const auto driver = cushim::try_driver();
    EXPECT(!driver.has_value());
    if (!driver.has_value()) {
        EXPECT_INT(driver.error().kind(), status == 34 ? cushim::ErrorKind::stub_library
                                                       : cushim::ErrorKind::library_not_found);
        EXPECT_INT(driver.error().status(), status);
        EXPECT(strstr(driver.error().message(), cushim::load_report().driver.explanation) !=
               nullptr);
    }
    const auto started = cushim::init();
    EXPECT(!started.has_value());
    EXPECT(!cushim::is_available<cushim::entry::cuInit>());
    EXPECT(!cushim::driver_version());
}

} // namespace

int main(int argc, char **argv) {
    const int driver_status = number_argument(argc, argv, 1);
    const int runtime_status = number_argument(argc, argv, 2);
    if (driver_status != 0) {
        check_driver(driver_status);
        check_driver_names();
        check_report(cushim::load_report().driver);
        check_errors(driver_status);
    }
    check_runtime(runtime_status);
    check_versions(runtime_status);
    check_report(cushim::load_report().runtime);
    EXPECT_INT(cushim::load_report().driver.state,
               driver_status != 0 ? CUSHIM_STATE_ABSENT : CUSHIM_STATE_LOADED);
    EXPECT(!cushim::runtime_version());
    return finish();
}
