// A program prints errors while there is no driver, waits for the driver, and reloads. No call may
// have reached the libcudart before: NVIDIA's remembers that there was no driver.
//
// usage: late_driver RUNTIME DRIVER
#include <cushim/entry.hpp>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

#include "../support/expect.h"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

void use_without_driver() {
    const auto cuda = cushim::runtime();
    int number = 77;
    EXPECT_INT(cuda.cudaGetDeviceCount(&number), cudaErrorInsufficientDriver);
    EXPECT_TEXT(cuda.cudaGetErrorName(cudaErrorInsufficientDriver), "cudaErrorInsufficientDriver");
    EXPECT(strstr(cuda.cudaGetErrorString(cudaErrorInsufficientDriver), "driver") != nullptr);
    EXPECT_TEXT(cuda.cudaGetErrorString(static_cast<cudaError_t>(12345)),
                "unrecognized error code");
    EXPECT_INT(cuda.cudaPeekAtLastError(), cudaErrorInsufficientDriver);
    EXPECT_INT(cuda.cudaGetLastError(), cudaErrorInsufficientDriver);
    cuda.cudaRuntimeGetVersion(&number);
    cuda.cudaDriverGetVersion(&number);
    EXPECT(!cushim::is_available<cushim::entry::cudaMalloc>());
    EXPECT_INT(cushim_resolve_all(CUSHIM_LIBRARY_RUNTIME), 0);
    EXPECT_INT(cushim_load_report(CUSHIM_LIBRARY_RUNTIME)->state, CUSHIM_STATE_LOADED);
    EXPECT_INT(cushim_reload(CUSHIM_LIBRARY_RUNTIME), CUSHIM_STATE_ABSENT);
}

} // namespace

int main(int, char **argv) {
    char folder[] = "/tmp/cushim-late-driver-XXXXXX";
    if (mkdtemp(folder) == nullptr) {
        return 1;
    }
    const std::string driver = std::string(folder) + "/libcuda.so.1";
    const auto runtime = std::filesystem::absolute(argv[1]);
    std::filesystem::create_symlink(runtime, folder / runtime.filename());
    setenv("CUSHIM_DRIVER", driver.c_str(), 1);
    use_without_driver();

    std::filesystem::create_symlink(argv[2], driver);
    EXPECT_INT(cushim_reload(CUSHIM_LIBRARY_RUNTIME), CUSHIM_STATE_LOADED);
    int count = 0;
    EXPECT(cushim::runtime().cudaGetDeviceCount(&count) != cudaErrorInsufficientDriver);
    EXPECT(cushim::runtime().cudaSetDevice(0) != cudaErrorInsufficientDriver);
    std::filesystem::remove_all(folder);
    return finish();
}
