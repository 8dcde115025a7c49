// A compiled CUDA program: what it registers with the runtime.
#pragma once

#include "images.hpp"

namespace sim_test {

template <class Function>
Function *runtime_function(const char *name) {
    return exported_as<Function *>(name, std::getenv("CUSHIM_RUNTIME"));
}

// The runtime's functions that compiled code calls. Looked up once: a forked child may find the
// loader's lock taken, and the destructor of a static object cannot make assertions.
struct CompiledCode {
    using Image = void **;
    Image (*image)(void *) = runtime_function<Image(void *)>("__cudaRegisterFatBinary");
    void (*end)(Image) = runtime_function<void(Image)>("__cudaRegisterFatBinaryEnd");
    void (*unregister)(Image) = runtime_function<void(Image)>("__cudaUnregisterFatBinary");
    // Called before the first use of a managed variable.
    char (*initialize)(Image) = runtime_function<char(Image)>("__cudaInitModule");
    using Function = void(Image, const char *, char *, const char *, int, void *, void *, void *,
                          void *, int *);
    Function *function = runtime_function<Function>("__cudaRegisterFunction");
    using Variable = void(Image, char *, char *, const char *, int, size_t, int, int);
    Variable *variable = runtime_function<Variable>("__cudaRegisterVar");
    using Managed = void(Image, void **, char *, const char *, int, size_t, int, int);
    Managed *managed = runtime_function<Managed>("__cudaRegisterManagedVar");

    static const CompiledCode &get() {
        static const CompiledCode functions;
        return functions;
    }
};

// A translation unit as nvcc compiles it, with an image for the simulator. The addresses of the
// members are the host names of its functions and variables.
class Registered : Unique {
  public:
    Registered() {
        function(&add, "add");
        function(&mixed, "mixed");
        function(&missing, "no such kernel");
        variable(&counter, "counter", 4);
        managed(&flags, "flags", 16);
        CompiledCode::get().end(handle_);
    }
    ~Registered() { CompiledCode::get().unregister(handle_); }

    void function(const char *host, const char *name) const {
        CompiledCode::get().function(handle_, host, nullptr, name, -1, nullptr, nullptr, nullptr,
                                     nullptr, nullptr);
    }
    void variable(char *host, const char *name, size_t size) const {
        CompiledCode::get().variable(handle_, host, nullptr, name, 0, size, 0, 0);
    }
    void managed(unsigned char **host, const char *name, size_t size) const {
        CompiledCode::get().managed(handle_, reinterpret_cast<void **>(host), nullptr, name, 0,
                                    size, 0, 0);
    }
    bool initialized() const { return CompiledCode::get().initialize(handle_) != 0; }

    char add = 0, mixed = 0, missing = 0, counter = 0;
    unsigned char *flags = nullptr;

  private:
    FatBinary wrapper_;
    void **handle_ = CompiledCode::get().image(&wrapper_);
};

} // namespace sim_test
