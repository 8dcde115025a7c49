#include "process.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace cushim_sim_tool {

std::string own_file() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

void set_variable(const char *name, const std::string &value) {
    setenv(name, value.c_str(), 1);
}

void (*function_of(const std::string &library, const char *name))() {
    void *const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<void (*)()>(handle != nullptr ? dlsym(handle, name) : nullptr);
}

int run_program(const std::vector<std::string> &program) {
    std::vector<char *> arguments;
    arguments.reserve(program.size() + 1);
    for (const std::string &argument : program) {
        arguments.push_back(const_cast<char *>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    std::fprintf(stderr, "cushim-sim: %s: %s\n", arguments[0], std::strerror(error));
    return error == ENOENT ? 127 : 126;
}

} // namespace cushim_sim_tool
