#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "hints.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace cushim_info;

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

} // namespace

TEST_CASE("A working machine needs no hint") {
    Info info = with_driver(0);
    info.count = Answer{};
    info.devices.push_back(Device{});
    CHECK(hints_for(info).empty());
}

TEST_CASE("No driver: what to do depends on where the program runs") {
    Info info = without_driver(CUSHIM_REASON_NOT_FOUND);
    Surroundings &machine = info.surroundings;

    SECTION("nothing known: what the loader says") {
        CHECK(only_hint(info) == "The loader's hint.");
    }
    SECTION("nothing known and nothing said: install it") {
        info.driver.hint.clear();
        CHECK_THAT(only_hint(info), ContainsSubstring("Install the NVIDIA driver"));
    }
    SECTION("no GPU on the bus") {
        machine.on_pci = false;
        CHECK_THAT(only_hint(info), ContainsSubstring("No NVIDIA GPU is visible"));
    }
    SECTION("a GPU on the bus") {
        machine.on_pci = true;
        CHECK_THAT(only_hint(info), ContainsSubstring("install the NVIDIA driver"));
    }
    SECTION("a container without its GPUs, even where the bus can be seen") {
        machine.on_pci = true;
        machine.container = "Docker";
        CHECK_THAT(only_hint(info), ContainsSubstring("--gpus all"));
        machine.container = "Podman";
        CHECK_THAT(only_hint(info), ContainsSubstring("podman run --device nvidia.com/gpu=all"));
        machine.container = "Kubernetes";
        CHECK_THAT(only_hint(info), ContainsSubstring("nvidia.com/gpu"));
        machine.container = "container";
        CHECK_THAT(only_hint(info), ContainsSubstring("This is a container without"));
    }
    SECTION("a container with devices and without the library") {
        machine.container = "Docker";
        machine.device_nodes = true;
        CHECK_THAT(only_hint(info), ContainsSubstring("NVIDIA_DRIVER_CAPABILITIES"));
    }
    SECTION("the kernel's part is there") {
        machine.kernel_module = "550.163.01";
        CHECK_THAT(only_hint(info), ContainsSubstring("exactly version 550.163.01"));
    }
    SECTION("WSL") {
        machine.wsl = true;
        CHECK_THAT(only_hint(info), ContainsSubstring("/dev/dxg is missing"));
        machine.device_nodes = true;
        CHECK_THAT(only_hint(info), ContainsSubstring("install the NVIDIA driver in Windows"));
    }
    SECTION("Windows") {
        machine.windows = true;
        CHECK(only_hint(info) == "The loader's hint.");
    }
}

TEST_CASE("Nothing but the link stub: names it, and says where a driver comes from") {
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

TEST_CASE("The link stub chosen by variable: no word about the search path") {
    Info info = without_driver(CUSHIM_REASON_LINK_STUB);
    info.surroundings.driver_chosen = true;
    CHECK_THAT(only_hint(info),
               ContainsSubstring("CUSHIM_DRIVER names the CUDA toolkit's link stub"));
}

TEST_CASE("A driver that was switched off or chosen: no word about installing one") {
    CHECK(only_hint(without_driver(CUSHIM_REASON_CHOSEN_PATH)) == "The loader's hint.");
    CHECK(only_hint(without_driver(CUSHIM_REASON_UNUSABLE)) == "The loader's hint.");
    Info info = without_driver(CUSHIM_REASON_DISABLED);
    CHECK(only_hint(info) == "The loader's hint.");
    info.driver.hint.clear();
    CHECK_THAT(only_hint(info), ContainsSubstring("CUSHIM_DISABLE"));
}

TEST_CASE("No device: the nearest cause is named") {
    Info info = with_driver(100);
    Surroundings &machine = info.surroundings;

    SECTION("hidden by the variable") {
        machine.device_nodes = true;
        machine.visible_devices = "-1";
        CHECK_THAT(only_hint(info), ContainsSubstring("CUDA_VISIBLE_DEVICES is '-1'"));
    }
    SECTION("the variable is not to blame where no device can be seen at all") {
        machine.container = "Docker";
        machine.visible_devices = "0";
        CHECK_THAT(only_hint(info), ContainsSubstring("--gpus all"));
    }
    SECTION("not there") {
        machine.on_pci = false;
        CHECK_THAT(only_hint(info), ContainsSubstring("no NVIDIA GPU is visible on the PCI bus"));
    }
    SECTION("no kernel module") {
        machine.on_pci = true;
        CHECK_THAT(only_hint(info), ContainsSubstring("modprobe nvidia"));
    }
    SECTION("no device nodes") {
        machine.on_pci = true;
        machine.kernel_module = "550.163.01";
        CHECK_THAT(only_hint(info), ContainsSubstring("no device nodes"));
    }
    SECTION("all there: permissions") {
        machine.kernel_module = "550.163.01";
        machine.device_nodes = true;
        CHECK_THAT(only_hint(info), ContainsSubstring("permissions"));
    }
    SECTION("the same when cuInit succeeds and counts none") {
        info.init = Answer{};
        info.count = Answer{};
        machine.on_pci = false;
        CHECK_THAT(only_hint(info), ContainsSubstring("no NVIDIA GPU is visible on the PCI bus"));
    }
}

TEST_CASE("Library and kernel module of different drivers") {
    Info info = with_driver(803);
    info.surroundings.kernel_module = "535.1";
    CHECK_THAT(only_hint(info), ContainsSubstring("/usr/lib/libcuda.so.1"));
    CHECK_THAT(only_hint(info), ContainsSubstring("kernel module 535.1"));
    CHECK_THAT(only_hint(info), ContainsSubstring("restart the machine"));
    info.surroundings.container = "Docker";
    CHECK_THAT(only_hint(info), ContainsSubstring("inside the container"));
}

TEST_CASE("The forward-compatibility library on a GPU that it does not support") {
    Info info = with_driver(804);
    CHECK_THAT(only_hint(info), ContainsSubstring("cuda/compat"));
    info.driver.path = "/usr/local/cuda/compat/libcuda.so.1";
    CHECK_THAT(only_hint(info), ContainsSubstring("(/usr/local/cuda/compat/libcuda.so.1)"));
}

TEST_CASE("An unknown failure of cuInit") {
    Info info = with_driver(999);
    CHECK_THAT(only_hint(info), ContainsSubstring("restart the machine"));
    info.surroundings.device_nodes = true;
    CHECK_THAT(only_hint(info), ContainsSubstring("/dev/nvidia-uvm, which CUDA needs, is missing"));
    info.surroundings.uvm_node = true;
    CHECK_THAT(only_hint(info), ContainsSubstring("restart the machine"));
}

TEST_CASE("Other failures of cuInit each have their own hint") {
    CHECK_THAT(only_hint(with_driver(304)), ContainsSubstring("/dev/nvidia*"));
    CHECK_THAT(only_hint(with_driver(802)), ContainsSubstring("nvidia-fabricmanager"));
    CHECK_THAT(only_hint(with_driver(805)), ContainsSubstring("MPS"));
    CHECK_THAT(only_hint(with_driver(46)), ContainsSubstring("exclusive"));
    CHECK_THAT(only_hint(with_driver(2)), ContainsSubstring("memory"));
    CHECK_THAT(only_hint(with_driver(12345)), ContainsSubstring("nvidia-smi"));
}

TEST_CASE("A driver older than the headers: how many, from which version, which driver has them") {
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

TEST_CASE("A missing runtime matters only where there is a driver") {
    Info info = with_driver(0);
    info.runtime.loaded = false;
    info.runtime.hint = "install the runtime";
    CHECK(only_hint(info) == "Install the runtime.");
    Info bare = without_driver(CUSHIM_REASON_NOT_FOUND);
    bare.runtime.hint = "install the runtime";
    CHECK(only_hint(bare) == "The loader's hint.");
}

TEST_CASE("Driver branches") {
    CHECK(driver_for(11040) == "driver 470 or newer");
    CHECK(driver_for(12040) == "driver 550 or newer");
    CHECK(driver_for(99010) == "a driver that supports CUDA 99.1");
}
