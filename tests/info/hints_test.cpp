#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "hints.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace cushim_info;

// Cases name only some members of Surroundings; the others keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace {

Info without_driver(cushim_reason reason) {
    Info info;
    info.headers = 13000;
    info.driver.reason = reason;
    info.driver.explanation = "why";
    info.driver.hint = "the loader's hint";
    return info;
}

Info with_driver(int init_status) {
    Info info;
    info.headers = 13000;
    info.driver.loaded = true;
    info.driver.version = 13000;
    info.driver.path = "/usr/lib/libcuda.so.1";
    info.runtime.loaded = true;
    info.runtime.version = 13000;
    info.init = Answer{init_status, "NAME", "text"};
    return info;
}

std::string only_hint(const Info &info) {
    const std::vector<std::string> hints = hints_for(info);
    REQUIRE(hints.size() == 1);
    return hints.front();
}

// A text that the only hint contains in these surroundings.
struct Case {
    Surroundings surroundings;
    const char *expected;
};

void check_cases(Info info, std::initializer_list<Case> cases) {
    for (const Case &one : cases) {
        info.surroundings = one.surroundings;
        CHECK_THAT(only_hint(info), ContainsSubstring(one.expected));
    }
}

} // namespace

TEST_CASE("A working machine gets no hint") {
    Info info = with_driver(0);
    info.count = Answer{};
    info.devices.push_back(Device{});
    CHECK(hints_for(info).empty());
}

TEST_CASE("The hint about a missing driver depends on where the program runs") {
    Info info = without_driver(CUSHIM_REASON_NOT_FOUND);
    check_cases(
        info,
        {
            {{}, "The loader's hint."},
            {{.windows = true}, "The loader's hint."},
            {{.on_pci = false}, "No NVIDIA GPU is visible"},
            {{.on_pci = true}, "install the NVIDIA driver"},
            // A container without GPUs, even if the PCI bus is visible.
            {{.container = "Docker", .on_pci = true}, "--gpus all"},
            {{.container = "Podman", .on_pci = true}, "podman run --device nvidia.com/gpu=all"},
            {{.container = "Kubernetes", .on_pci = true}, "nvidia.com/gpu"},
            {{.container = "container", .on_pci = true}, "This is a container without"},
            {{.container = "Docker", .device_nodes = true}, "NVIDIA_DRIVER_CAPABILITIES"},
            {{.kernel_module = "550.163.01"}, "exactly version 550.163.01"},
            {{.wsl = true}, "/dev/dxg is missing"},
            {{.wsl = true, .device_nodes = true}, "install the NVIDIA driver in Windows"},
        });
    info.driver.hint.clear();
    check_cases(info, {{{}, "Install the NVIDIA driver"}});
}

TEST_CASE("The hint about a link stub names it and says where a driver comes from") {
    Info info = without_driver(CUSHIM_REASON_LINK_STUB);
    info.driver.candidates.push_back({"/a/libcuda.so.1", CUSHIM_OUTCOME_NOT_FOUND, ""});
    info.driver.candidates.push_back({"/b/stubs/libcuda.so.1", CUSHIM_OUTCOME_LINK_STUB, ""});
    info.surroundings.container = "Docker";
    const std::vector<std::string> hints = hints_for(info);
    REQUIRE(hints.size() == 2);
    CHECK_THAT(hints[0], ContainsSubstring("/b/stubs/libcuda.so.1"));
    CHECK_THAT(hints[0], ContainsSubstring("LD_LIBRARY_PATH"));
    CHECK_THAT(hints[1], ContainsSubstring("--gpus all"));
}

TEST_CASE("The hint about a link stub chosen by variable does not mention the search path") {
    Info info = without_driver(CUSHIM_REASON_LINK_STUB);
    info.surroundings.driver_chosen = true;
    CHECK_THAT(only_hint(info),
               ContainsSubstring("CUSHIM_DRIVER names the CUDA toolkit's link stub"));
}

TEST_CASE("The hint about a disabled or chosen driver does not recommend to install one") {
    CHECK(only_hint(without_driver(CUSHIM_REASON_CHOSEN_PATH)) == "The loader's hint.");
    CHECK(only_hint(without_driver(CUSHIM_REASON_UNUSABLE)) == "The loader's hint.");
    Info info = without_driver(CUSHIM_REASON_DISABLED);
    CHECK(only_hint(info) == "The loader's hint.");
    info.driver.hint.clear();
    CHECK_THAT(only_hint(info), ContainsSubstring("CUSHIM_DISABLE"));
}

TEST_CASE("The hint about a missing device names the most likely cause") {
    Info info = with_driver(100);
    check_cases(
        info, {
                  {{.device_nodes = true, .visible_devices = "-1"}, "CUDA_VISIBLE_DEVICES is '-1'"},
                  // The variable is not the cause if no device is visible at all.
                  {{.container = "Docker", .visible_devices = "0"}, "--gpus all"},
                  {{.on_pci = false}, "no NVIDIA GPU is visible on the PCI bus"},
                  // The machine says nothing about a driver that may not be its own.
                  {{.container = "Docker", .on_pci = false, .driver_chosen = true},
                   "that CUSHIM_DRIVER names found no device"},
                  {{.device_nodes = true, .kernel_module = "550.163.01", .driver_chosen = true},
                   "that CUSHIM_DRIVER names found no device"},
                  {{.container = "Docker", .visible_devices = "-1", .driver_chosen = true},
                   "CUDA_VISIBLE_DEVICES is '-1'"},
                  {{.on_pci = true}, "modprobe nvidia"},
                  {{.on_pci = true, .kernel_module = "550.163.01"}, "no device nodes"},
                  {{.device_nodes = true, .kernel_module = "550.163.01"}, "permissions"},
              });
    // The same if cuInit succeeds and the count is 0.
    info.init = Answer{};
    info.count = Answer{};
    check_cases(info, {{{.on_pci = false}, "no NVIDIA GPU is visible on the PCI bus"}});
}

TEST_CASE("Different versions of library and kernel module are named") {
    check_cases(with_driver(803),
                {
                    {{.kernel_module = "535.1"}, "/usr/lib/libcuda.so.1"},
                    {{.kernel_module = "535.1"}, "kernel module 535.1"},
                    {{.kernel_module = "535.1"}, "restart the machine"},
                    {{.container = "Docker", .kernel_module = "535.1"}, "inside the container"},
                });
}

TEST_CASE("A forward-compatibility library that does not support the GPU is named") {
    Info info = with_driver(804);
    CHECK_THAT(only_hint(info), ContainsSubstring("cuda/compat"));
    info.driver.path = "/usr/local/cuda/compat/libcuda.so.1";
    CHECK_THAT(only_hint(info), ContainsSubstring("(/usr/local/cuda/compat/libcuda.so.1)"));
}

TEST_CASE("An unknown failure of cuInit gets a general hint") {
    check_cases(with_driver(999),
                {
                    {{}, "restart the machine"},
                    {{.device_nodes = true}, "/dev/nvidia-uvm, which CUDA needs, is missing"},
                    {{.device_nodes = true, .uvm_node = true}, "restart the machine"},
                    {{.device_nodes = true, .driver_chosen = true}, "restart the machine"},
                });
}

TEST_CASE("Each known failure of cuInit has its own hint") {
    CHECK_THAT(only_hint(with_driver(304)), ContainsSubstring("/dev/nvidia*"));
    CHECK_THAT(only_hint(with_driver(802)), ContainsSubstring("nvidia-fabricmanager"));
    CHECK_THAT(only_hint(with_driver(805)), ContainsSubstring("MPS"));
    CHECK_THAT(only_hint(with_driver(806)), ContainsSubstring("restart its daemon"));
    CHECK_THAT(only_hint(with_driver(807)), ContainsSubstring("is not ready"));
    CHECK_THAT(only_hint(with_driver(808)), ContainsSubstring("maximum number of clients"));
    CHECK_THAT(only_hint(with_driver(809)), ContainsSubstring("maximum number of connections"));
    CHECK_THAT(only_hint(with_driver(810)), ContainsSubstring("ended this client"));
    CHECK_THAT(only_hint(with_driver(101)), ContainsSubstring("nvidia-smi"));
    check_cases(with_driver(101), {{{.visible_devices = "0,0"}, "CUDA_VISIBLE_DEVICES is '0,0'"}});
    CHECK_THAT(only_hint(with_driver(46)), ContainsSubstring("exclusive"));
    CHECK_THAT(only_hint(with_driver(2)), ContainsSubstring("memory"));
    CHECK_THAT(only_hint(with_driver(12345)), ContainsSubstring("nvidia-smi"));
}

TEST_CASE("The hint about an old driver counts the missing entry points and names a newer driver") {
    Info info = with_driver(0);
    info.driver.version = 12020;
    info.driver.entry_points = {
        {"cuInit", 2000, 0}, {"cuOld", 3000, 302}, {"cuNewer", 12030, 36}, {"cuNewest", 13000, 36}};
    const std::string hint = only_hint([&] {
        Info other = info;
        other.runtime.version = 12020;
        return other;
    }());
    CHECK_THAT(hint, ContainsSubstring("supports CUDA 12.2"));
    CHECK_THAT(hint, ContainsSubstring("2 entry points need CUDA 12.3 to 13.0"));
    CHECK_THAT(hint, ContainsSubstring("driver 580 or newer"));

    SECTION("and too old for the runtime") {
        const std::vector<std::string> hints = hints_for(info);
        REQUIRE(hints.size() == 2);
        CHECK_THAT(hints[1], ContainsSubstring("cuda* calls return 35"));
    }
}

TEST_CASE("A missing runtime is a hint only if there is a driver") {
    Info info = with_driver(0);
    info.runtime.loaded = false;
    info.runtime.hint = "install the runtime";
    CHECK(only_hint(info) == "Install the runtime.");
    Info bare = without_driver(CUSHIM_REASON_NOT_FOUND);
    bare.runtime.hint = "install the runtime";
    CHECK(only_hint(bare) == "The loader's hint.");
}

TEST_CASE("A CUDA version is translated into a driver branch") {
    CHECK(driver_for(11040) == "driver 470 or newer");
    CHECK(driver_for(12040) == "driver 550 or newer");
    CHECK(driver_for(99010) == "a driver that supports CUDA 99.1");
}
