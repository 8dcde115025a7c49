// Images that tests load, and modules that are unloaded at the end of their scope.
#pragma once

#include "handles.hpp"

#include <filesystem>
#include <fstream>

namespace sim_test {

inline constexpr char vector_image[] = R"(cushim-sim-image 1
kernel add params=8,8,8,4   # pointers and a count
kernel nothing
kernel mixed params=1,2,8,4,16:8,3 max_threads=256 registers=40 shared=1024 local=96
global counter size=4 init=2a000000
global buffer size=4096
constant table size=64 init=0102
managed flags size=16 init=07
texture image
surface target
)";

// The structure in which nvcc embeds a fat binary or another image.
struct FatBinary {
    int magic = 0x466243b1;
    int version = 1;
    const void *data = vector_image;
    void *more = nullptr;
};

// A module in the current context.
struct LoadedModule : Module {
    explicit LoadedModule(const void *image = vector_image) : Module(image) {}
};

// Returns the status of loading the image; unloads it if that succeeds.
inline CUresult load_status(const void *image) {
    CUmodule module = nullptr;
    const CUresult status = driver().cuModuleLoadData(&module, image);
    if (status == CUDA_SUCCESS) {
        ok(driver().cuModuleUnload(module));
    }
    return status;
}

// A file with these bytes, removed at the end of the scope.
class TemporaryFile : Unique {
  public:
    explicit TemporaryFile(const std::string &bytes) {
        static int files = 0;
        const auto own =
            reinterpret_cast<std::uintptr_t>(this) ^ static_cast<std::uintptr_t>(std::rand());
        path_ = std::filesystem::temp_directory_path() /
                ("cushim-test-" + std::to_string(own) + "-" + std::to_string(++files));
        std::ofstream(path_, std::ios::binary) << bytes;
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

// The text that loading the image writes into its error log.
inline std::string error_of(const std::string &image, CUresult expected) {
    char log[512] = "untouched";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    CUmodule module = nullptr;
    CHECK(driver().cuModuleLoadDataEx(&module, image.c_str(), 2, options, values) == expected);
    CHECK(reinterpret_cast<std::uintptr_t>(values[1]) == std::strlen(log));
    return log;
}

// The value of a kernel argument.
template <class T>
T argument(const cushim_sim_launch &launch, unsigned int index) {
    T value{};
    std::memcpy(&value, launch.parameters[index], sizeof value);
    return value;
}

} // namespace sim_test
