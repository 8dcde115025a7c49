#include "surroundings.hpp"

#include <fstream>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace cushim_info {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path &path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

// The first 4 KiB, which contain everything that is searched for in such files.
std::string read_start(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(4096, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::string find_container(const fs::path &root, const GetEnvironment &variable) {
    const char *const named = variable("container"); // set by Podman, systemd-nspawn, LXC
    const std::string_view name = named != nullptr ? named : "";
    const std::string cgroups = read_start(root / "proc/1/cgroup");
    if (name == "podman" || is_there(root / "run/.containerenv") || contains(cgroups, "libpod")) {
        return "Podman";
    }
    if (variable("KUBERNETES_SERVICE_HOST") != nullptr || contains(cgroups, "kubepods")) {
        return "Kubernetes";
    }
    if (name == "docker" || is_there(root / ".dockerenv") || contains(cgroups, "docker")) {
        return "Docker";
    }
    if (!name.empty() || contains(cgroups, "containerd") || contains(cgroups, "/lxc")) {
        return "container";
    }
    return {};
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr ..."; the open module says
// "... Open Kernel Module for x86_64  580.65.06  Release Build ...".
std::string find_kernel_module(const fs::path &root) {
    const std::string text = read_start(root / "proc/driver/nvidia/version");
    const std::size_t after = text.find("Kernel Module");
    if (after == std::string::npos) {
        return {};
    }
    const std::size_t line_end = text.find('\n', after);
    const std::string_view line =
        std::string_view(text).substr(0, line_end == std::string::npos ? text.size() : line_end);
    // Two spaces on either side delimit the version.
    std::size_t begin = line.find("  ", after);
    begin = begin == std::string_view::npos ? begin : line.find_first_not_of(' ', begin);
    if (begin == std::string_view::npos) {
        return {};
    }
    return std::string(line.substr(begin, line.find(' ', begin) - begin));
}

bool has_numbered_node(const fs::path &root) {
    // A container may have any of the GPUs, not necessarily the first.
    for (int i = 0; i < 64; ++i) {
        if (is_there(root / ("dev/nvidia" + std::to_string(i)))) {
            return true;
        }
    }
    return false;
}

bool is_nvidia_gpu(const fs::path &pci_device) {
    constexpr std::string_view display_class = "0x03";
    return read_start(pci_device / "vendor").starts_with("0x10de") &&
           read_start(pci_device / "class").starts_with(display_class);
}

std::optional<bool> find_on_pci(const fs::path &root) {
    std::error_code error;
    fs::directory_iterator device(root / "sys/bus/pci/devices", error);
    if (error) {
        return std::nullopt;
    }
    for (; device != fs::directory_iterator(); device.increment(error)) {
        if (error) {
            return std::nullopt;
        }
        if (is_nvidia_gpu(device->path())) {
            return true;
        }
    }
    return false;
}

} // namespace

Surroundings probe_files(const fs::path &root, const GetEnvironment &variable) {
    Surroundings found;
    const std::string release = read_start(root / "proc/sys/kernel/osrelease");
    found.wsl = contains(release, "microsoft") || contains(release, "Microsoft");
    found.container = find_container(root, variable);
    found.device_nodes = found.wsl ? is_there(root / "dev/dxg")
                                   : has_numbered_node(root) || is_there(root / "dev/nvmap");
    found.uvm_node = is_there(root / "dev/nvidia-uvm");
    found.on_pci = find_on_pci(root);
    found.kernel_module = find_kernel_module(root);
    return found;
}

Surroundings probe_surroundings(const GetEnvironment &variable) {
#ifdef _WIN32
    Surroundings found;
    found.windows = true;
#else
    Surroundings found = probe_files("/", variable);
#endif
    if (const char *const visible = variable("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
        found.visible_devices = visible;
    }
    const char *const chosen = variable("CUSHIM_DRIVER");
    found.driver_chosen = chosen != nullptr && *chosen != '\0';
    return found;
}

} // namespace cushim_info
