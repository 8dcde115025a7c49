// A compiled CUDA program: what it registers with the runtime.
#pragma once

#include "images.hpp"

namespace sim_test {

template <class Function>
Function runtime_function(const char *name) {
    return exported_as<Function>(name, std::getenv("CUSHIM_RUNTIME"));
}

// A translation unit as nvcc compiles it, with an image for the simulator. The addresses of the
// members are the host names of its functions and variables.
class Registered : Unique {
  public:
    Registered() {
        handle_ = runtime_function<void **(*)(void *)>("__cudaRegisterFatBinary")(&wrapper_);
        function(&add, "add");
        function(&mixed, "mixed");
        function(&missing, "no such kernel");
        variable(&counter, "counter", 4);
        managed(&flags, "flags", 16);
        runtime_function<void (*)(void **)>("__cudaRegisterFatBinaryEnd")(handle_);
    }
    ~Registered() { unregister_(handle_); }

    void function(const char *host, const char *name) const {
        runtime_function<void (*)(void **, const char *, char *, const char *, int, void *, void *,
                                  void *, void *, int *)>("__cudaRegisterFunction")(
            handle_, host, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
    void variable(char *host, const char *name, size_t size) const {
        runtime_function<void (*)(void **, char *, char *, const char *, int, size_t, int, int)>(
            "__cudaRegisterVar")(handle_, host, nullptr, name, 0, size, 0, 0);
    }
    void managed(unsigned char **host, const char *name, size_t size) const {
        runtime_function<void (*)(void **, void **, char *, const char *, int, size_t, int, int)>(
            "__cudaRegisterManagedVar")(handle_, reinterpret_cast<void **>(host), nullptr, name, 0,
                                        size, 0, 0);
    }
    // Compiled code calls this before its first use of a managed variable.
    bool initialized() const {
        return runtime_function<char (*)(void **)>("__cudaInitModule")(handle_) != 0;
    }

    char add = 0, mixed = 0, missing = 0, counter = 0;
    unsigned char *flags = nullptr;

  private:
    FatBinary wrapper_;
    void **handle_ = nullptr;
    // Looked up early: the destructor of a static object cannot make assertions.
    void (*unregister_)(void **) = runtime_function<void (*)(void **)>("__cudaUnregisterFatBinary");
};

} // namespace sim_test
