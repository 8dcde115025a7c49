#include "fake_library.hpp"

#include <cstdlib>
#include <stdexcept>

#include "loading.hpp"

namespace support {

void (*function_of(const std::string &path, const char *name))() {
    void *const library = load(path.c_str());
    auto *const found = library != nullptr ? function_in<void()>(library, name) : nullptr;
    if (found == nullptr) {
        throw std::runtime_error(path + " is not the expected fake library: it does not export " +
                                 name);
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
