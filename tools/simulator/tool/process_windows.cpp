#include "process.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <process.h>
#include <windows.h>

namespace cushim_sim_tool {
namespace {

// Quotes as programs parse their command line: backslashes are special only before a quote.
std::string quoted(const std::string &argument) {
    if (!argument.empty() && argument.find_first_of(" \t\n\v\"") == std::string::npos) {
        return argument;
    }
    std::string text = "\"";
    std::size_t backslashes = 0;
    for (const char c : argument) {
        if (c == '"') {
            text.append(backslashes + 1, '\\');
        }
        backslashes = c == '\\' ? backslashes + 1 : 0;
        text += c;
    }
    return text.append(backslashes, '\\') + '"';
}

} // namespace

std::string own_file() {
    char path[4096];
    const DWORD size = GetModuleFileNameA(nullptr, path, sizeof path);
    return size < sizeof path ? std::string(path, size) : std::string();
}

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

void set_variable(const char *name, const std::string &value) {
    _putenv_s(name, value.c_str());
}

void (*function_of(const std::string &library, const char *name))() {
    const HMODULE handle = LoadLibraryA(library.c_str());
    return reinterpret_cast<void (*)()>(handle != nullptr ? GetProcAddress(handle, name) : nullptr);
}

const bool ancestors_are_told = false;

int run_program(const std::vector<std::string> &program) {
    return run_and_wait(program);
}

int run_and_wait(const std::vector<std::string> &program) {
    std::vector<std::string> texts;
    for (const std::string &argument : program) {
        texts.push_back(quoted(argument));
    }
    std::vector<const char *> arguments;
    for (const std::string &text : texts) {
        arguments.push_back(text.c_str());
    }
    arguments.push_back(nullptr);
    const std::intptr_t status = _spawnvp(_P_WAIT, program[0].c_str(), arguments.data());
    if (status != -1) {
        return static_cast<int>(status);
    }
    const int error = errno;
    std::fprintf(stderr, "cushim-sim: %s: %s\n", program[0].c_str(), std::strerror(error));
    return error == ENOENT ? 127 : 126;
}

} // namespace cushim_sim_tool
