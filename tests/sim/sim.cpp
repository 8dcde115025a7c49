#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "sim_expectations.hpp"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace sim_test {
namespace {

[[noreturn]] void stop(const std::string &why) {
    std::fprintf(stderr, "tests/sim: %s\n", why.c_str());
    std::exit(1);
}

std::string why() {
#ifdef _WIN32
    return "error " + std::to_string(GetLastError());
#else
    const char *text = dlerror();
    return text != nullptr ? text : "";
#endif
}

void *handle_of(const std::string &library) {
#ifdef _WIN32
    void *handle = reinterpret_cast<void *>(LoadLibraryA(library.c_str()));
#else
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
#endif
    if (handle == nullptr) {
        stop(library + " cannot be loaded: " + why());
    }
    return handle;
}

std::string driver_file() {
    // The path that cushim has loaded, or else the one it will load.
    const char *loaded = cushim::load_report().driver.path;
    const char *variable = std::getenv("CUSHIM_DRIVER");
    if (loaded == nullptr && variable == nullptr) {
        stop("the build sets CUSHIM_DRIVER for these tests");
    }
    return loaded != nullptr ? loaded : variable;
}

const cushim_sim &find_control() {
    const auto function =
        reinterpret_cast<cushim_sim_control_function>(exported(CUSHIM_SIM_CONTROL));
    if (function == nullptr) {
        stop(driver_file() + " is not the simulated driver");
    }
    const cushim_sim *control = function();
    if (control->interface_version != CUSHIM_SIM_INTERFACE) {
        stop(driver_file() + " has another control interface");
    }
    return *control;
}

void add_line(const char *line, void *lines) {
    static_cast<std::vector<std::string> *>(lines)->emplace_back(line);
}

} // namespace

Expectations &expectations() {
    static Expectations expectations;
    return expectations;
}

const cushim_sim &sim_control() {
    static const cushim_sim &control = find_control();
    return control;
}

void (*exported(const std::string &library, const char *name))() {
    void *handle = handle_of(library);
#ifdef _WIN32
    return reinterpret_cast<void (*)()>(GetProcAddress(static_cast<HMODULE>(handle), name));
#else
    return reinterpret_cast<void (*)()>(dlsym(handle, name));
#endif
}

void (*exported(const char *name))() {
    return exported(driver_file(), name);
}

void configure(const std::string &settings) {
    if (sim_control().configure(settings.c_str()) != 0) {
        FAIL("settings " << settings << ": " << sim_control().problem());
    }
}

void start(const std::string &settings) {
    sim_control().reset();
    configure(settings);
    require_ok(cushim::driver().cuInit(0));
    CUcontext context = nullptr;
    require_ok(cushim::driver().cuDevicePrimaryCtxRetain(&context, 0));
    require_ok(cushim::driver().cuCtxSetCurrent(context));
    expectations().own_leak.clear();
    expectations().ended.clear();
    const auto retained = leaks();
    REQUIRE(retained.size() == 1);
    expectations().own_leak = retained.front();
}

std::vector<std::string> leaks() {
    std::vector<std::string> lines;
    sim_control().leaks(add_line, &lines);
    std::erase(lines, expectations().own_leak);
    const auto &ended = expectations().ended;
    std::erase_if(lines, [&](const std::string &line) {
        return std::find(ended.begin(), ended.end(), line) != ended.end();
    });
    return lines;
}

std::vector<std::string> misuses() {
    std::vector<std::string> lines;
    sim_control().misuses(add_line, &lines);
    return lines;
}

void expect_misuse(const std::string &text) {
    const auto lines = misuses();
    auto &taken = expectations().taken;
    for (std::size_t i = 0; i != lines.size(); ++i) {
        const bool fits = lines[i].find(text) != std::string::npos;
        if (fits && std::find(taken.begin(), taken.end(), i) == taken.end()) {
            taken.push_back(i);
            return;
        }
    }
    std::string all;
    for (const auto &line : lines) {
        all += "\n  " + line;
    }
    FAIL("no misuse with \"" << text << "\" was reported; misuses:" << all);
}

void expect_ended(const std::vector<std::string> &kinds) {
    auto lines = leaks();
    std::erase_if(
        lines, [](const std::string &line) { return line.find(", ended ") == std::string::npos; });
    REQUIRE(lines.size() == kinds.size());
    for (std::size_t i = 0; i != lines.size(); ++i) {
        INFO(lines[i]);
        CHECK(lines[i].starts_with(kinds[i]));
        expectations().ended.push_back(lines[i]);
    }
}

void allow_leaks() {
    expectations().leaks_allowed = true;
}

const std::vector<std::string> &all_modes() {
    static const std::vector<std::string> modes = {
        "mode=immediate",          "mode=threaded",           "mode=adversarial;seed=1",
        "mode=adversarial;seed=2", "mode=adversarial;seed=3", "mode=adversarial;seed=4711",
    };
    return modes;
}

} // namespace sim_test
