#include "simulator.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/stream.hpp>
#include <cushim/table.hpp>
#include <thread>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace api_test {
namespace {

// In the library that cushim loaded, which stays loaded.
cushim_sim_control_function find_control() {
    const auto loaded = cushim::load_driver();
    const char *path = cushim::load_report().driver.path;
    if (!loaded || path == nullptr) {
        return nullptr;
    }
#ifdef _WIN32
    HMODULE library = LoadLibraryA(path);
    return reinterpret_cast<cushim_sim_control_function>(
        reinterpret_cast<void (*)()>(GetProcAddress(library, CUSHIM_SIM_CONTROL)));
#else
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<cushim_sim_control_function>(dlsym(library, CUSHIM_SIM_CONTROL));
#endif
}

std::vector<std::string> lines(std::size_t (*report)(cushim_sim_line, void *)) {
    std::vector<std::string> all;
    report([](const char *line,
              void *user) { static_cast<std::vector<std::string> *>(user)->emplace_back(line); },
           &all);
    return all;
}

void always_fail(const char *entry_point, cushim_sim_fault_kind kind) {
    cushim_sim_fault fault{};
    fault.entry = entry_point;
    fault.kind = kind;
    fault.code = CUDA_ERROR_UNKNOWN;
    fault.sticky = 1;
    REQUIRE(simulator()->plan_fault(&fault) != 0);
}

} // namespace

const cushim_sim *simulator() {
    static const cushim_sim *const control = [] {
        const cushim_sim_control_function function = find_control();
        return function != nullptr ? function() : nullptr;
    }();
    return control;
}

void need_simulator(const std::string &why) {
    if (simulator() == nullptr) {
        SKIP(why);
    }
}

void need_faults() {
    need_simulator("needs the simulator, whose calls can be made to fail");
}

void restart(const std::string &settings) {
    if (simulator() == nullptr) {
        REQUIRE(cushim::init().has_value());
        return;
    }
    cushim::wait_for_released_closures();                       // of the previous test
    for (int rest = 20; rest > 0 && !leaks().empty(); --rest) { // its last work may still run
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        cushim::wait_for_released_closures();
    }
    simulator()->reset();
    if (simulator()->configure(settings.c_str()) != 0) {
        FAIL("the simulator does not understand " << simulator()->problem());
    }
    REQUIRE(cushim::init().has_value());
}

std::vector<std::string> leaks() {
    return simulator() != nullptr ? lines(simulator()->leaks) : std::vector<std::string>();
}

std::vector<std::string> misuses() {
    return simulator() != nullptr ? lines(simulator()->misuses) : std::vector<std::string>();
}

void always_fail_after(const char *entry_point) {
    always_fail(entry_point, CUSHIM_SIM_FAULT_AFTER);
}

void always_fail_instead(const char *entry_point) {
    always_fail(entry_point, CUSHIM_SIM_FAULT_INSTEAD);
}

} // namespace api_test
