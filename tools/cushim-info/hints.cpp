#include "hints.hpp"

#include <cushim/detail/init_advice.h>

#include <algorithm>

namespace cushim_info {
namespace {

// Numbers of CUresult, defined here so that this file needs no CUDA header.
constexpr int no_device = 100;
constexpr int invalid_device = 101;
constexpr int system_driver_mismatch = 803;
constexpr int compat_not_supported = 804;
constexpr int unknown = 999;

struct Branch {
    int cuda;
    int driver;
};

constexpr Branch branches[] = {
    {11040, 470}, {11050, 495}, {11060, 510}, {11070, 515}, {11080, 520},
    {12000, 525}, {12010, 530}, {12020, 535}, {12030, 545}, {12040, 550},
    {12050, 555}, {12060, 560}, {12080, 570}, {12090, 575}, {13000, 580},
};

std::string start_container(const Surroundings &machine) {
    const std::string where =
        machine.container == "container" ? "a container" : "a " + machine.container + " container";
    std::string hint = "This is " + where + " without NVIDIA devices. ";
    if (machine.container == "Kubernetes") {
        return hint + "Request a GPU for it (resource nvidia.com/gpu; the cluster needs NVIDIA's "
                      "device plugin).";
    }
    if (machine.container == "Podman") {
        return hint + "Start it with GPU access: podman run --device nvidia.com/gpu=all (the host "
                      "needs the driver and the NVIDIA Container Toolkit).";
    }
    return hint +
           "Start it with GPU access: docker run --gpus all, or the equivalent of its engine "
           "(the host needs the driver and the NVIDIA Container Toolkit).";
}

std::string no_devices_in_wsl(const Surroundings &machine) {
    if (!machine.device_nodes) {
        return "This is WSL without a GPU (/dev/dxg is missing): use WSL 2 (wsl --set-version) "
               "with a current kernel (wsl --update).";
    }
    return "This is WSL: install the NVIDIA driver in Windows, not inside WSL; it provides "
           "/usr/lib/wsl/lib/libcuda.so.1. If that file exists, restart with wsl --shutdown.";
}

// The loader's phrases have no capital letter and no full stop.
std::string sentence(std::string phrase) {
    if (!phrase.empty()) {
        if (phrase.front() >= 'a' && phrase.front() <= 'z') {
            phrase.front() = static_cast<char>(phrase.front() - 'a' + 'A');
        }
        if (phrase.back() != '.') {
            phrase += '.';
        }
    }
    return phrase;
}

std::string first_with(const Library &library, cushim_outcome outcome) {
    for (const Candidate &candidate : library.candidates) {
        if (candidate.outcome == outcome) {
            return candidate.path;
        }
    }
    return {};
}

std::string link_stub(const Library &driver) {
    const std::string path = first_with(driver, CUSHIM_OUTCOME_LINK_STUB);
    return "The CUDA toolkit's link stub" + (path.empty() ? "" : " (" + path + ")") +
           " is on the library search path, but it is not a driver: remove its folder "
           "(lib64/stubs) "
           "from LD_LIBRARY_PATH.";
}

// The kernel driver is present, and only the library is missing.
std::string library_only(const Surroundings &machine) {
    if (!machine.container.empty()) {
        return "The container has NVIDIA devices but not the driver's library: start it through "
               "the NVIDIA Container Toolkit with NVIDIA_DRIVER_CAPABILITIES=compute,utility.";
    }
    const std::string of_version =
        machine.kernel_module.empty() ? "" : " of exactly version " + machine.kernel_module;
    return "The NVIDIA kernel driver is installed, but not its CUDA library libcuda.so.1: install "
           "the "
           "driver's compute package" +
           of_version + " (Debian: libcuda1; Ubuntu: libnvidia-compute-<branch>).";
}

std::string install_driver(const Info &info) {
    const Surroundings &machine = info.surroundings;
    if (!machine.windows && !machine.wsl && machine.on_pci && !*machine.on_pci) {
        return "No NVIDIA GPU is visible on the PCI bus. On a machine that has one, install the "
               "NVIDIA driver.";
    }
    if (!machine.windows && !machine.wsl && machine.on_pci) {
        return "An NVIDIA GPU is on the PCI bus: install the NVIDIA driver (Debian: nvidia-driver; "
               "Ubuntu: ubuntu-drivers install), then restart.";
    }
    return sentence(info.driver.hint.empty() ? "Install the NVIDIA driver." : info.driver.hint);
}

void driver_not_found(const Info &info, std::vector<std::string> &hints) {
    const Surroundings &machine = info.surroundings;
    if (machine.wsl) {
        hints.push_back(no_devices_in_wsl(machine));
    } else if (!machine.container.empty() && !machine.device_nodes) {
        hints.push_back(start_container(machine));
    } else if (machine.device_nodes || !machine.kernel_module.empty()) {
        hints.push_back(library_only(machine));
    } else {
        hints.push_back(install_driver(info));
    }
}

void driver_absent(const Info &info, std::vector<std::string> &hints) {
    switch (info.driver.reason) {
    case CUSHIM_REASON_LINK_STUB:
        if (info.surroundings.driver_chosen) {
            hints.push_back("CUSHIM_DRIVER names the CUDA toolkit's link stub, which is not a "
                            "driver: unset it, or name a driver.");
            return;
        }
        hints.push_back(link_stub(info.driver));
        driver_not_found(info, hints);
        return;
    case CUSHIM_REASON_NOT_FOUND:
        driver_not_found(info, hints);
        return;
    case CUSHIM_REASON_DISABLED:
        hints.push_back(
            sentence(info.driver.hint.empty() ? "unset CUSHIM_DISABLE" : info.driver.hint));
        return;
    default:
        // Files that exist but cannot be used: the loader has a more precise hint.
        if (!info.driver.hint.empty()) {
            hints.push_back(sentence(info.driver.hint));
        }
    }
}

// Also used if cuInit succeeds but the device count is 0.
std::string no_device_hint(const Surroundings &machine) {
    const bool can_be_there = machine.windows || machine.device_nodes || machine.driver_chosen;
    if (machine.visible_devices && can_be_there) {
        return "CUDA_VISIBLE_DEVICES is '" + *machine.visible_devices +
               "', which may hide every GPU: unset it.";
    }
    // It may not be the driver of this machine: a simulated one, or one of another system.
    if (machine.driver_chosen) {
        return "The driver that CUSHIM_DRIVER names found no device: name the driver of this "
               "machine, or unset the variable.";
    }
    if (machine.wsl) {
        return no_devices_in_wsl(machine);
    }
    if (machine.windows) {
        return "Check in the device manager that an NVIDIA GPU is present and enabled, and "
               "reinstall its driver.";
    }
    if (!machine.container.empty() && !machine.device_nodes) {
        return start_container(machine);
    }
    if (machine.on_pci && !*machine.on_pci) {
        return "The driver's library is installed, but no NVIDIA GPU is visible on the PCI bus.";
    }
    if (machine.kernel_module.empty() && !machine.device_nodes) {
        return "The driver's library is installed, but its kernel module is not loaded: sudo "
               "modprobe "
               "nvidia; if that fails, reinstall the driver and read dmesg.";
    }
    if (!machine.device_nodes) {
        return "The NVIDIA kernel module is loaded, but there are no device nodes /dev/nvidia*: "
               "sudo nvidia-modprobe -c 0 -u, or run nvidia-smi as root.";
    }
    return "NVIDIA devices exist, but the driver cannot use them: check the permissions of "
           "/dev/nvidia*, that nvidia-smi lists the GPUs, and dmesg.";
}

bool from_compat_package(const std::string &path) {
    return path.find("/compat") != std::string::npos;
}

std::string driver_mismatch(const Info &info) {
    const std::string &module = info.surroundings.kernel_module;
    std::string hint = "The library " + info.driver.path + " and the kernel module" +
                       (module.empty() ? "" : " " + module) + " belong to different drivers: ";
    if (!info.surroundings.container.empty()) {
        return hint + "remove the driver that is installed inside the container; the container "
                      "engine provides the host's.";
    }
    return hint + "after a driver update, restart the machine; otherwise remove the "
                  "library that does not match.";
}

std::string compat_package(const Info &info) {
    const std::string what =
        from_compat_package(info.driver.path) ? " (" + info.driver.path + ")" : "";
    return "The forward-compatibility library" + what +
           " does not support this GPU: remove its folder (cuda/compat) from LD_LIBRARY_PATH, and "
           "update the driver instead.";
}

std::string unknown_failure(const Surroundings &machine) {
    if (!machine.driver_chosen && !machine.windows && !machine.wsl && machine.device_nodes &&
        !machine.uvm_node) {
        return "/dev/nvidia-uvm, which CUDA needs, is missing: sudo nvidia-modprobe -c 0 -u; in a "
               "container, start it through the NVIDIA Container Toolkit.";
    }
    return sentence(cushim_init_advice(unknown));
}

std::string init_hint(const Info &info) {
    switch (info.init->status) {
    case no_device:
        return no_device_hint(info.surroundings);
    case system_driver_mismatch:
        return driver_mismatch(info);
    case compat_not_supported:
        return compat_package(info);
    case unknown:
        return unknown_failure(info.surroundings);
    default:
        break;
    }
    if (info.init->status == invalid_device && info.surroundings.visible_devices) {
        return "CUDA_VISIBLE_DEVICES is '" + *info.surroundings.visible_devices +
               "', which names a device twice, or one that the driver rejects: correct or unset "
               "it.";
    }
    const char *const advice = cushim_init_advice(info.init->status);
    return sentence(advice != nullptr ? advice
                                      : "the driver is installed but does not start: check that "
                                        "nvidia-smi works, and read the system log");
}

void old_driver(const Info &info, std::vector<std::string> &hints) {
    std::size_t count = 0;
    int first = 0;
    int last = 0;
    for (const EntryPoint &entry : info.driver.entry_points) {
        if (entry.status == requires_newer_driver) {
            first = count == 0 ? entry.introduced : std::min(first, entry.introduced);
            last = std::max(last, entry.introduced);
            ++count;
        }
    }
    if (count == 0) {
        return;
    }
    std::string needs = "CUDA " + version_text(first);
    if (last != first) {
        needs += " to " + version_text(last);
    }
    hints.push_back("The driver supports CUDA " + version_text(info.driver.version) +
                    " and is older than the headers (CUDA " + version_text(info.headers) +
                    "): " + std::to_string(count) +
                    (count == 1 ? " entry point needs " : " entry points need ") + needs +
                    ". Everything else works; " + driver_for(last) + " has all of them.");
}

void runtime_hints(const Info &info, std::vector<std::string> &hints) {
    const Library &runtime = info.runtime;
    if (!runtime.loaded) {
        // Without a driver, the runtime would not help, so it is not recommended.
        if (info.driver.loaded && !runtime.hint.empty()) {
            hints.push_back(sentence(runtime.hint));
        }
        return;
    }
    if (info.driver.loaded && info.driver.version != 0 &&
        runtime.version / 1000 > info.driver.version / 1000) {
        hints.push_back("The runtime is for CUDA " + version_text(runtime.version) +
                        ", the driver supports CUDA " + version_text(info.driver.version) +
                        ": cuda* calls return 35. They need " +
                        driver_for(runtime.version / 1000 * 1000) + ".");
    }
}

} // namespace

std::string driver_for(int version) {
    for (const Branch &branch : branches) {
        if (branch.cuda == version) {
            return "driver " + std::to_string(branch.driver) + " or newer";
        }
    }
    return "a driver that supports CUDA " + version_text(version);
}

std::vector<std::string> hints_for(const Info &info) {
    std::vector<std::string> hints;
    if (!info.driver.loaded) {
        driver_absent(info, hints);
    } else if (info.init && info.init->status != 0) {
        hints.push_back(init_hint(info));
    } else if (info.count && info.devices.empty()) {
        hints.push_back(no_device_hint(info.surroundings));
    }
    if (info.driver.loaded) {
        old_driver(info, hints);
    }
    runtime_hints(info, hints);
    return hints;
}

} // namespace cushim_info
