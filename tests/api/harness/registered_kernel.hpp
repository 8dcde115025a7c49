// A kernel that is registered with the simulated libcudart as compilers register one.
#pragma once

#include "device_code.hpp"
#include "scenario.hpp"

#include <cstdlib>

#include <dlfcn.h>

namespace api_test {

// A function of the simulated libcudart that nvcc's code calls and no header declares.
template <class Function>
inline Function compiler_function(const char *name) {
    void *const library = dlopen(std::getenv("CUSHIM_RUNTIME"), RTLD_LAZY | RTLD_NOLOAD);
    REQUIRE(library != nullptr);
    void *const found = dlsym(library, name);
    dlclose(library);
    REQUIRE(found != nullptr);
    return reinterpret_cast<Function>(found);
}

// Registers a kernel as code from nvcc does: the address of a host symbol identifies the kernel.
class RegisteredKernel {
  public:
    explicit RegisteredKernel(const char *name) {
        REQUIRE(cushim::load_runtime().has_value());
        handle_ = compiler_function<void **(*)(void *)>("__cudaRegisterFatBinary")(&wrapper_);
        compiler_function<void (*)(void **, const char *, char *, const char *, int, void *, void *,
                                   void *, void *, int *)>("__cudaRegisterFunction")(
            handle_, &symbol_, &symbol_, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
        compiler_function<void (*)(void **)>("__cudaRegisterFatBinaryEnd")(handle_);
        register_kernels();
    }
    ~RegisteredKernel() {
        compiler_function<void (*)(void **)>("__cudaUnregisterFatBinary")(handle_);
    }
    RegisteredKernel(const RegisteredKernel &) = delete;
    RegisteredKernel &operator=(const RegisteredKernel &) = delete;

    const void *symbol() const { return &symbol_; }
    // The symbol as the compiler's code has it.
    template <class Signature>
    Signature *function() const {
        return reinterpret_cast<Signature *>(reinterpret_cast<std::uintptr_t>(&symbol_));
    }

  private:
    struct {
        int magic = 0x466243b1;
        int version = 1;
        const void *data = device_code;
        void *more = nullptr;
    } wrapper_;
    char symbol_ = 0;
    void **handle_ = nullptr;
};

} // namespace api_test
