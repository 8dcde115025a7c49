#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "surroundings.hpp"

using namespace cushim_info;
namespace fs = std::filesystem;

namespace {

// The root folder of a simulated machine, removed at the end.
class Machine {
  public:
    Machine()
        : root_(fs::temp_directory_path() /
                ("cushim-info-test-" + std::to_string(std::random_device()()))) {
        fs::create_directories(root_);
    }
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;
    ~Machine() {
        std::error_code ignored;
        fs::remove_all(root_, ignored);
    }

    void file(const std::string &path, const std::string &content = "") {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path, std::ios::binary) << content;
    }

    void variable(const std::string &name, const std::string &value) { variables_[name] = value; }

    Surroundings probe() const {
        return probe_files(root_, [this](const char *name) -> const char * {
            const auto found = variables_.find(name);
            return found != variables_.end() ? found->second.c_str() : nullptr;
        });
    }

  private:
    fs::path root_;
    std::map<std::string, std::string> variables_;
};

} // namespace

TEST_CASE("An empty machine has no properties") {
    const Surroundings found = Machine().probe();
    CHECK(found.container.empty());
    CHECK_FALSE(found.wsl);
    CHECK_FALSE(found.device_nodes);
    CHECK_FALSE(found.uvm_node);
    CHECK_FALSE(found.on_pci.has_value());
    CHECK(found.kernel_module.empty());
}

TEST_CASE("The kind of container is recognized") {
    struct Case {
        const char *file, *content, *variable, *value, *container;
    };
    for (const Case &one : std::initializer_list<Case>{
             {".dockerenv", "", "", "", "Docker"},
             {"proc/1/cgroup", "12:memory:/docker/0123\n", "", "", "Docker"},
             {"run/.containerenv", "", "", "", "Podman"},
             // Even if the runtime is Docker.
             {".dockerenv", "", "KUBERNETES_SERVICE_HOST", "10.0.0.1", "Kubernetes"},
             {"unrelated", "", "container", "systemd-nspawn", "container"},
             {"proc/1/cgroup", "0::/init.scope\n", "", "", ""},
         }) {
        Machine machine;
        machine.file(one.file, one.content);
        machine.variable(one.variable, one.value);
        CHECK(machine.probe().container == one.container);
    }
}

TEST_CASE("WSL is recognized by its kernel, its GPU by /dev/dxg") {
    Machine machine;
    machine.file("proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
    CHECK(machine.probe().wsl);
    CHECK_FALSE(machine.probe().device_nodes);
    machine.file("dev/dxg");
    CHECK(machine.probe().device_nodes);
}

TEST_CASE("The device node of any GPU counts") {
    Machine machine;
    machine.file("dev/nvidiactl");
    CHECK_FALSE(machine.probe().device_nodes);
    machine.file("dev/nvidia5");
    CHECK(machine.probe().device_nodes);
    machine.file("dev/nvidia-uvm");
    CHECK(machine.probe().uvm_node);
}

TEST_CASE("Only NVIDIA display and compute controllers count as GPUs") {
    Machine machine;
    const std::string devices = "sys/bus/pci/devices/";
    machine.file(devices + "integrated/vendor", "0x8086\n");
    machine.file(devices + "integrated/class", "0x030000\n");
    machine.file(devices + "sound/vendor", "0x10de\n");
    machine.file(devices + "sound/class", "0x040300\n"); // the audio function of a GPU
    CHECK(machine.probe().on_pci == false);
    machine.file(devices + "gpu/vendor", "0x10de\n");
    machine.file(devices + "gpu/class", "0x030200\n");
    CHECK(machine.probe().on_pci == true);
}

TEST_CASE("The kernel module's version is read") {
    Machine machine;
    for (const auto &[text, version] :
         {std::pair{"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr 8\n"
                    "GCC version:  gcc version 12.2.0\n",
                    "550.163.01"},
          std::pair{"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
                    "Release Build  (root@host)\n",
                    "580.65.06"},
          std::pair{"NVRM version: unknown Kernel Module\nnext  line\n", ""}}) {
        machine.file("proc/driver/nvidia/version", text);
        CHECK(machine.probe().kernel_module == version);
    }
}
