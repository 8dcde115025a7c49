// The findings of cushim-info as plain data: collected once, then printed as text or JSON.
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
    int introduced = 0; // packed like CUDA_VERSION; 0: unknown
    int status = 0;     // 0: resolved; otherwise the status that its calls return
};

struct Library {
    std::string name;  // "nvml": of a further library
    std::string title; // "NVML": likewise
    bool loaded = false;
    bool used = false; // also false for a libcudart without a driver, which is not queried
    cushim_reason reason = CUSHIM_REASON_NONE;
    std::string explanation; // the loader's sentence
    std::string hint;        // the loader's hint; "" if none
    std::string path;
    int version = 0; // packed, 0: unknown
    std::vector<Candidate> candidates;
    std::vector<EntryPoint> entry_points;
    std::vector<std::string> left_out;        // declarations of the headers that the tables lack
    std::vector<std::string> unknown_version; // names without a known version; driver only
};

// CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: the status of an entry point that the driver is too old
// for.
inline constexpr int requires_newer_driver = 36;

// The status of a cu* call.
struct Answer {
    int status = 0;
    std::string name; // CUDA_ERROR_NO_DEVICE
    std::string text; // "no CUDA-capable device is detected"
};

struct Device {
    int ordinal = 0;
    std::string name;                          // "" if unknown
    std::string compute_capability;            // "9.0"; "" if unknown
    std::optional<std::uint64_t> total_memory; // bytes
    std::string problem;                       // why it cannot be used; "" if it can
};

// Properties of the machine that can be determined without CUDA.
struct Surroundings {
    bool windows = false;
    bool wsl = false;
    std::string container;      // "Docker", "Podman", "container"; "" outside a container
    bool device_nodes = false;  // of a GPU: /dev/nvidia0, on WSL /dev/dxg, on Jetson /dev/nvmap
    bool uvm_node = false;      // /dev/nvidia-uvm, which CUDA also needs
    std::optional<bool> on_pci; // an NVIDIA GPU on the PCI bus; no value: the bus is not visible
    std::string kernel_module;  // version of the loaded NVIDIA kernel module; "" if none
    std::optional<std::string> visible_devices; // CUDA_VISIBLE_DEVICES
    bool driver_chosen = false;                 // by CUSHIM_DRIVER
};

struct Info {
    std::string cushim;
    int headers = 0; // CUDA_VERSION of the headers
    Library driver;
    Library runtime;
    std::vector<Library> further; // those that this program was built with
    std::optional<Answer> init;   // of cuInit(0); no value without a driver
    std::optional<Answer> count;  // of cuDeviceGetCount; no value if cuInit failed
    std::vector<Device> devices;
    Surroundings surroundings;
    std::vector<std::string> hints;
};

// 12060 is "12.6".
std::string version_text(int version);

// For JSON.
const char *outcome_word(cushim_outcome outcome);
const char *reason_word(cushim_reason reason);

std::size_t resolved_count(const Library &library);

// A libcudart that is loaded but not used for lack of a driver; its entry points are unknown.
bool is_unasked(const Library &library);

// "100 (CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected)"
std::string answer_text(const Answer &answer);

// One line with the reason why no device can be used; "" if one can.
std::string why_no_usable_device(const Info &info);

} // namespace cushim_info
