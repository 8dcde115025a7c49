#ifndef _WIN32
#include "../../cushim_sim.h"
#include "runtime/base/platform.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <string>

namespace sim::runtime::platform {
namespace {

constexpr const char *driver_file = "libcuda.so.1";

void *if_simulated(void *library) noexcept {
    if (library != nullptr && dlsym(library, CUSHIM_SIM_CONTROL) == nullptr) {
        dlclose(library);
        return nullptr;
    }
    return library;
}

const char *own_path() noexcept {
    Dl_info info{};
    return dladdr(reinterpret_cast<const void *>(&find_driver), &info) != 0 ? info.dli_fname
                                                                            : nullptr;
}

std::string own_folder() {
    const std::string path = own_path() ? own_path() : "";
    return path.substr(0, path.rfind('/') + 1);
}

} // namespace

void *find_driver() noexcept try {
    if (void *loaded = if_simulated(dlopen(driver_file, RTLD_LAZY | RTLD_NOLOAD))) {
        return loaded;
    }
    const std::string folder = own_folder();
    return folder.empty()
               ? nullptr
               : if_simulated(dlopen((folder + driver_file).c_str(), RTLD_NOW | RTLD_LOCAL));
} catch (...) {
    return nullptr;
}

void *find_function(void *library, const char *name) noexcept {
    return dlsym(library, name);
}

void around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
    pthread_atfork(before, in_parent, in_child);
}

void stay_loaded() noexcept {
    if (const char *path = own_path()) {
        (void)dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

} // namespace sim::runtime::platform
#endif
