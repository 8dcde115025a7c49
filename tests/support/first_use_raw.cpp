// The least that any loader must do: open the library and look names up.
#include "first_use_program.hpp"

#include <dlfcn.h>

namespace {

void *function(const Arguments &arguments, const char *name) {
    void *const library = dlopen(arguments.driver, RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : dlsym(library, name);
}

} // namespace

int first_version(const Arguments &arguments) {
    int version = 0;
    const auto get = reinterpret_cast<int (*)(int *)>(function(arguments, "cuDriverGetVersion"));
    return get != nullptr && get(&version) == 0 ? version : -1;
}

int first_init(const Arguments &arguments) {
    const auto init = reinterpret_cast<int (*)(unsigned int)>(function(arguments, "cuInit"));
    return init != nullptr ? init(0) : -1;
}

// Opens the driver before the runtime, as cushim does.
int first_runtime_call(const Arguments &arguments) {
    if (dlopen(arguments.driver, RTLD_NOW | RTLD_LOCAL) == nullptr) {
        return -1;
    }
    void *const runtime = dlopen(arguments.runtime, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<int (*)()>(dlsym(runtime, "cudaDeviceSynchronize"))();
}

int resolve_all(const Arguments &arguments) {
    void *const library = dlopen(arguments.driver, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return -1;
    }
    int found = 0;
    for (const std::string &name : arguments.names) {
        found += dlsym(library, name.c_str()) != nullptr ? 1 : 0;
    }
    return found;
}
