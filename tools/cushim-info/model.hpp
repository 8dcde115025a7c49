// What cushim-info found out, as plain data: gathered once, then printed as text or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cushim/loader.h>

namespace cushim_info {

struct Candidate {
    std::string path;
    cushim_outcome outcome = CUSHIM_OUTCOME_NOT_FOUND;
    std::string detail;
};

struct EntryPoint {
    std::string name;
    int introduced = 0; // packed as CUDA packs it, 0: unknown
    int status = 0;     // 0: resolved, else what a call of it answers
};

struct Library {
    bool loaded = false;
    bool used =
        false; // false for a libcudart without a driver, too: its functions are not asked for
    cushim_reason reason = CUSHIM_REASON_NONE;
    std::string explanation; // the loader's sentence
    std::string hint;        // the loader's, "" if it has none
    std::string path;
    int version = 0; // packed, 0: unknown
    std::vector<Candidate> candidates;
    std::vector<EntryPoint> entry_points;
    std::vector<std::string> left_out;        // declarations of the headers that the tables lack
    std::vector<std::string> unknown_version; // names without a known version, the driver's only
};

// CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, the status of an entry point that came after the driver.
inline constexpr int requires_newer_driver = 36;

// What a cu* call answered.
struct Answer {
    int status = 0;
    std::string name; // CUDA_ERROR_NO_DEVICE
    std::string text; // "no CUDA-capable device is detected"
};

struct Device {
    int ordinal = 0;
    std::string name;                          // "" if the driver did not tell
    std::string compute_capability;            // "9.0", "" if the driver did not tell
    std::optional<std::uint64_t> total_memory; // bytes
    std::string problem;                       // why it cannot be used, "" if it can
};

// What can be seen of the machine without asking CUDA.
struct Surroundings {
    bool windows = false;
    bool wsl = false;
    std::string container;      // "Docker", "Podman", "container", "" outside of one
    bool device_nodes = false;  // of a GPU: /dev/nvidia0, on WSL /dev/dxg, on Jetson /dev/nvmap
    bool uvm_node = false;      // /dev/nvidia-uvm, which CUDA needs besides
    std::optional<bool> on_pci; // an NVIDIA GPU on the PCI bus; nothing: the bus cannot be seen
    std::string kernel_module;  // the version of the loaded NVIDIA kernel module, "" if none
    std::optional<std::string> visible_devices; // CUDA_VISIBLE_DEVICES
    bool driver_chosen = false;                 // by CUSHIM_DRIVER
};

struct Info {
    std::string cushim;
    int headers = 0; // CUDA_VERSION of the headers
    Library driver;
    Library runtime;
    std::optional<Answer> init;  // of cuInit(0); nothing where there is no driver to ask
    std::optional<Answer> count; // of cuDeviceGetCount; nothing where cuInit failed
    std::vector<Device> devices;
    Surroundings surroundings;
    std::vector<std::string> hints;
};

// 12060 is "12.6".
std::string version_text(int version);

// One word for a program.
const char *outcome_word(cushim_outcome outcome);
const char *reason_word(cushim_reason reason);

std::size_t resolved_count(const Library &library);

// A libcudart that is loaded and not used, since there is no driver: it may have every entry point.
bool is_unasked(const Library &library);

// "100 (CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected)"
std::string answer_text(const Answer &answer);

// One line that says why no device can be used; "" if one can.
std::string why_no_usable_device(const Info &info);

} // namespace cushim_info
