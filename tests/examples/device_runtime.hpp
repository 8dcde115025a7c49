// CUDA's device runtime, libcudadevrt.a: the functions of kernels that control graphs while they
// run. It is part of a CUDA toolkit, and the driver links it to such a kernel at run time.
#pragma once

#include <cushim/code.hpp>
#include <cushim/result.hpp>
#include <cushim/table.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace example {

// The file of the toolkit in CUDA_PATH, CUDA_HOME, or /usr/local/cuda; empty if it is not found.
inline std::string find_device_runtime() {
#ifdef _WIN32
    const std::string in_toolkit = "\\lib\\x64\\cudadevrt.lib";
#else
    const std::string in_toolkit = "/lib64/libcudadevrt.a";
#endif
    const char *const roots[] = {std::getenv("CUDA_PATH"), std::getenv("CUDA_HOME"),
                                 "/usr/local/cuda"};
    for (const char *root : roots) {
        const std::string path = root != nullptr ? root + in_toolkit : "";
        if (std::FILE *file = std::fopen(path.c_str(), "rb")) {
            std::fclose(file);
            return path;
        }
    }
    return {};
}

// The driver's linker. It needs a current context and owns the code that it makes.
class Linker {
  public:
    Linker() = default;
    Linker(const Linker &) = delete;
    Linker &operator=(const Linker &) = delete;
    ~Linker() { (void)close(); }

    cushim::Result<cushim::CodeImage> link(const char *ptx, const std::string &device_runtime) {
        const auto cuda = cushim::driver();
        CUSHIM_TRY_VOID(checked(cuda.cuLinkCreate(0, nullptr, nullptr, &state_), "cuLinkCreate"));
        CUSHIM_TRY_VOID(
            checked(cuda.cuLinkAddData(state_, CU_JIT_INPUT_PTX, const_cast<char *>(ptx),
                                       std::strlen(ptx) + 1, "kernel", 0, nullptr, nullptr),
                    "cuLinkAddData"));
        CUSHIM_TRY_VOID(checked(cuda.cuLinkAddFile(state_, CU_JIT_INPUT_LIBRARY,
                                                   device_runtime.c_str(), 0, nullptr, nullptr),
                                "cuLinkAddFile"));
        void *code = nullptr;
        std::size_t size = 0;
        CUSHIM_TRY_VOID(checked(cuda.cuLinkComplete(state_, &code, &size), "cuLinkComplete"));
        return cushim::CodeImage(code, size);
    }

    cushim::Result<void> close() {
        const CUlinkState state = std::exchange(state_, nullptr);
        return state == nullptr ? cushim::Result<void>()
                                : checked(cushim::driver().cuLinkDestroy(state), "cuLinkDestroy");
    }

  private:
    static cushim::Result<void> checked(CUresult status, const char *entry_point) {
        if (status != CUDA_SUCCESS) {
            return cushim::Error::status(cushim::Api::driver, status, entry_point);
        }
        return {};
    }

    CUlinkState state_ = nullptr;
};

} // namespace example
