#include "process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern char **environ;

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

#ifdef __linux__
const bool ancestors_are_told = true;
#else
const bool ancestors_are_told = false;
#endif

namespace {

std::vector<char *> pointers_to(const std::vector<std::string> &program) {
    std::vector<char *> arguments;
    arguments.reserve(program.size() + 1);
    for (const std::string &argument : program) {
        arguments.push_back(const_cast<char *>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    return arguments;
}

int cannot_run(const std::string &program, int error) {
    std::fprintf(stderr, "cushim-sim: %s: %s\n", program.c_str(), std::strerror(error));
    return error == ENOENT ? 127 : 126;
}

volatile pid_t child = 0;

} // namespace

int run_program(const std::vector<std::string> &program) {
    execvp(program[0].c_str(), pointers_to(program).data());
    return cannot_run(program[0], errno);
}

int run_and_wait(const std::vector<std::string> &program) {
    pid_t started = 0;
    if (const int error = posix_spawnp(&started, program[0].c_str(), nullptr, nullptr,
                                       pointers_to(program).data(), environ)) {
        return cannot_run(program[0], error);
    }
    child = started;
    std::signal(SIGINT, SIG_IGN); // a terminal sends these to the program, too
    std::signal(SIGQUIT, SIG_IGN);
    for (const int forwarded : {SIGTERM, SIGHUP}) {
        std::signal(forwarded, [](int number) { kill(child, number); });
    }
    int status = 0;
    while (waitpid(started, &status, 0) == -1 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        std::signal(WTERMSIG(status), SIG_DFL);
        std::raise(WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

} // namespace cushim_sim_tool
