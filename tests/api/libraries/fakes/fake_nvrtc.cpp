// An NVRTC. A source with "error" does not compile; the log has a line for each "line" in it.
// FAKE_OLD: without the functions that NVRTC 11.2 and 12.0 introduced.
#include "fake_calls.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

namespace {

struct Program {
    std::string source, name, log, flags;
    std::vector<std::string> names;
};

std::vector<int> architectures = {75, 80, 90};
bool is_empty = false, lowers = true;
int counted = -1; // what the number of architectures is said to be; -1: the truth

Program &program(void *handle) {
    return *static_cast<Program *>(handle);
}

std::string log_of(const Program &from) {
    std::string log;
    for (std::size_t at = 0; (at = from.source.find("line", at)) != std::string::npos; ++at) {
        log += from.name + ": the text of a line of the log\n";
    }
    return log;
}

int get_size(const char *function, const std::string &text, std::size_t *size) {
    const int status = enter(function);
    *size = text.size();
    return status;
}

int get(const char *function, const std::string &text, char *to) {
    const int status = enter(function);
    std::memcpy(to, text.data(), text.size());
    return status;
}

// With its NUL, as NVRTC returns texts.
std::string with_nul(const std::string &text) {
    return text + '\0';
}

std::string code(const char *kind, void *handle) {
    return is_empty ? "" : kind + (" " + program(handle).flags);
}

} // namespace

FAKE void fake_set_architectures(int count, const int *numbers) {
    architectures.assign(numbers, numbers + count);
}
FAKE void fake_produce_nothing(bool nothing) {
    is_empty = nothing;
}
FAKE void fake_lower_names(bool lower) {
    lowers = lower;
}
FAKE void fake_count_architectures(int count) {
    counted = count;
}

FAKE const char *nvrtcGetErrorString(int status) {
    return status == 1   ? "NVRTC_ERROR_OUT_OF_MEMORY"
           : status == 6 ? "NVRTC_ERROR_COMPILATION"
           : status == 8 ? "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION"
                         : "NVRTC_ERROR unknown";
}
FAKE int nvrtcVersion(int *major, int *minor) {
    *major = FAKE_MAJOR;
    *minor = 0;
    return 0;
}
FAKE int nvrtcCreateProgram(void **created, const char *source, const char *name, int headers,
                            const char *const *texts, const char *const *names) {
    const int status = enter("nvrtcCreateProgram " + std::string(name) + " " +
                             list(headers, names) + " " + list(headers, texts));
    if (status == 0) {
        *created = new Program{source, name, "", "", {}};
        ++live_objects;
    }
    return status;
}
FAKE int nvrtcDestroyProgram(void **handle) {
    const int status = enter("nvrtcDestroyProgram");
    delete &program(*handle);
    *handle = nullptr;
    --live_objects;
    return status;
}
FAKE int nvrtcAddNameExpression(void *handle, const char *name) {
    program(handle).names.push_back(name);
    return enter("nvrtcAddNameExpression " + std::string(name));
}
FAKE int nvrtcCompileProgram(void *handle, int count, const char *const *flags) {
    Program &compiled = program(handle);
    compiled.flags = list(count, flags);
    compiled.log = log_of(compiled);
    const int status = enter("nvrtcCompileProgram " + compiled.flags);
    return status != 0 ? status : compiled.source.find("error") != std::string::npos ? 6 : 0;
}
FAKE int nvrtcGetProgramLogSize(void *handle, std::size_t *size) {
    return get_size("nvrtcGetProgramLogSize", with_nul(program(handle).log), size);
}
FAKE int nvrtcGetProgramLog(void *handle, char *to) {
    return get("nvrtcGetProgramLog", with_nul(program(handle).log), to);
}
FAKE int nvrtcGetPTXSize(void *handle, std::size_t *size) {
    return get_size("nvrtcGetPTXSize", with_nul(code("PTX", handle)), size);
}
FAKE int nvrtcGetPTX(void *handle, char *to) {
    return get("nvrtcGetPTX", with_nul(code("PTX", handle)), to);
}
FAKE int nvrtcGetCUBINSize(void *handle, std::size_t *size) {
    return get_size("nvrtcGetCUBINSize", code("cubin", handle), size);
}
FAKE int nvrtcGetCUBIN(void *handle, char *to) {
    return get("nvrtcGetCUBIN", code("cubin", handle), to);
}
FAKE int nvrtcGetLoweredName(void *handle, const char *name, const char **lowered) {
    static std::string mangled;
    mangled = "_Z" + std::string(name) + std::to_string(program(handle).names.size());
    *lowered = lowers ? mangled.c_str() : nullptr;
    return enter("nvrtcGetLoweredName " + std::string(name));
}
#ifndef FAKE_OLD
FAKE int nvrtcGetNumSupportedArchs(int *count) {
    *count = counted == -1 ? static_cast<int>(architectures.size()) : counted;
    return enter("nvrtcGetNumSupportedArchs");
}
FAKE int nvrtcGetSupportedArchs(int *numbers) {
    std::memcpy(numbers, architectures.data(), architectures.size() * sizeof(int));
    return enter("nvrtcGetSupportedArchs");
}
FAKE int nvrtcGetLTOIRSize(void *handle, std::size_t *size) {
    return get_size("nvrtcGetLTOIRSize", code("LTO IR", handle), size);
}
FAKE int nvrtcGetLTOIR(void *handle, char *to) {
    return get("nvrtcGetLTOIR", code("LTO IR", handle), to);
}
#endif
