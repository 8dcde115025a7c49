#include "fake_library.hpp"

#include <cstdlib>
#include <stdexcept>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace support {
namespace {

using Function = void (*)();

#ifdef _WIN32
Function find(const std::string &path, const char *name, std::string &why) {
    HMODULE library = LoadLibraryA(path.c_str());
    if (library == nullptr) {
        why = "error " + std::to_string(GetLastError());
        return nullptr;
    }
    return reinterpret_cast<Function>(GetProcAddress(library, name));
}
#else
Function find(const std::string &path, const char *name, std::string &why) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void *found = library != nullptr ? dlsym(library, name) : nullptr;
    if (found == nullptr) {
        why = dlerror();
    }
    return reinterpret_cast<Function>(found);
}
#endif

} // namespace

void (*function_of(const std::string &path, const char *name))() {
    std::string why = std::string("no ") + name;
    const Function found = find(path, name, why);
    if (found == nullptr) {
        throw std::runtime_error(path + " is not the fake library that was expected: " + why);
    }
    return found;
}

const fake_control *fake_control_of(const std::string &path) {
    return reinterpret_cast<fake_control_function>(function_of(path, "fake_control_get"))();
}

std::string required_variable(const char *name) {
    const char *value = std::getenv(name);
    if (value == nullptr) {
        throw std::runtime_error(std::string("the build sets ") + name + " for this test");
    }
    return value;
}

void set_variable(const char *name, const std::string &value) {
#ifdef _WIN32
    _putenv_s(name, value.c_str());
#else
    setenv(name, value.c_str(), 1);
#endif
}

} // namespace support
