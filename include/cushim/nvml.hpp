/* NVML: what the NVIDIA driver reports about GPUs, without a CUDA context: memory, utilization,
 * temperature, processes.
 *
 *     CUSHIM_TRY(const Nvml nvml, Nvml::open());
 *     CUSHIM_TRY(const NvmlDevice gpu, nvml.device(device)); // the same GPU as a cushim::Device
 *     CUSHIM_TRY(const NvmlMemory memory, gpu.memory());
 *
 * Part of cushim if it was built with -Dlibraries=nvml. NVML itself is loaded by Nvml::open(): see
 * loader.hpp. Programs need no header of NVML. */
#ifndef CUSHIM_NVML_HPP
#define CUSHIM_NVML_HPP

#if !__has_include(<cushim/nvml_library.h>)
#error "this cushim was built without its NVML wrapper: configure it with -Dlibraries=nvml"
#endif

#include <cstddef>

#include <cushim/detail/nvml_use.hpp>
#include <cushim/device.hpp>
#include <cushim/result.hpp>
#include <cushim/text.hpp>

struct nvmlDevice_st; // behind nvmlDevice_t

namespace cushim {

// Text that NVML returned: a name, a UUID, a version.
using NvmlText = DeviceText<96>;

// The memory of a device, in bytes. Used memory includes what the driver reserves.
struct NvmlMemory {
    unsigned long long total_bytes = 0; // all memory
    unsigned long long free_bytes = 0;  // neither used nor reserved
    unsigned long long used_bytes = 0;  // by all processes, and reserved
};

// The share of the last sample period (between 1/6 s and 1 s) in which something was active.
struct NvmlUtilization {
    unsigned int gpu_percent = 0;    // kernels were running
    unsigned int memory_percent = 0; // memory was read or written
};

// A process that uses a device.
struct NvmlProcess {
    // The values of members that NVML does not report.
    static constexpr unsigned long long unknown_bytes = ~0ULL;
    static constexpr unsigned int no_instance = ~0U;

    unsigned int pid = 0;                          // as the driver sees it: outside of containers
    unsigned long long used_bytes = unknown_bytes; // memory of the device
    unsigned int gpu_instance = no_instance;       // of MIG
    unsigned int compute_instance = no_instance;   // of MIG
};

/* A GPU or MIG instance, as NVML sees it.
 *
 * It keeps NVML initialised. Moved, not copied; a moved-from object is empty.
 *
 * Threads: as for an int; const functions may run on several threads at the same time. Different
 * objects may be used and destroyed by different threads at the same time.
 * Context: none is needed, and the CUDA driver is not initialised.
 *
 * Errors: not_supported_by_device (NVML_ERROR_NOT_SUPPORTED, 3); for a MIG instance the message
 * says that parent() may support it; not_permitted; symbol_not_found if NVML is too old; the status
 * of the NVML call, an nvmlReturn_t, with api() Api::library; invalid_argument if empty. */
class NvmlDevice {
  public:
    // Empty.
    NvmlDevice() noexcept = default;

    // Whether this object holds a device.
    explicit operator bool() const noexcept { return static_cast<bool>(use_); }
    // The nvmlDevice_t, for calls through the table; valid as long as NVML is initialised. Null if
    // empty.
    nvmlDevice_st *native() const noexcept { return use_ ? native_ : nullptr; }

    // The product name. nvmlDeviceGetName.
    CUSHIM_API Result<NvmlText> name() const noexcept;
    // The UUID: "GPU-..." or "MIG-...". nvmlDeviceGetUUID.
    CUSHIM_API Result<NvmlText> uuid() const noexcept;
    // Total, free and used memory. nvmlDeviceGetMemoryInfo.
    CUSHIM_API Result<NvmlMemory> memory() const noexcept;
    // How busy the GPU and its memory are; not of MIG instances, nor of GPUs in MIG mode.
    // nvmlDeviceGetUtilizationRates.
    CUSHIM_API Result<NvmlUtilization> utilization() const noexcept;
    // The temperature of the GPU in degrees Celsius; not of MIG instances.
    // nvmlDeviceGetTemperature.
    CUSHIM_API Result<unsigned int> temperature_celsius() const noexcept;

    // Return the number of processes with a compute (CUDA) or graphics context, and write as many
    // of them as fit to an array of `size` elements. The number may exceed `size`. invalid_argument
    // for a null array unless `size` is 0. nvmlDeviceGetComputeRunningProcesses_v2,
    // nvmlDeviceGetGraphicsRunningProcesses_v2, since driver 460.
    CUSHIM_API Result<std::size_t> compute_processes(NvmlProcess *into,
                                                     std::size_t size) const noexcept;
    CUSHIM_API Result<std::size_t> graphics_processes(NvmlProcess *into,
                                                      std::size_t size) const noexcept;

    // Whether this is a MIG instance. nvmlDeviceIsMigDeviceHandle, since driver 450; false if NVML
    // is older.
    CUSHIM_API Result<bool> is_mig_instance() const noexcept;
    // The GPU of a MIG instance. nvmlDeviceGetDeviceHandleFromMigDeviceHandle, since driver 450.
    CUSHIM_API Result<NvmlDevice> parent() const noexcept;

  private:
    friend class Nvml;
    NvmlDevice(detail::NvmlUse &&use, nvmlDevice_st *native) noexcept
        : use_(static_cast<detail::NvmlUse &&>(use)), native_(native) {}

    detail::NvmlUse use_;
    nvmlDevice_st *native_ = nullptr;
};
CUSHIM_API Text to_text(const NvmlDevice &device) noexcept;

/* An initialisation of NVML. NVML counts initialisations: each Nvml and each NvmlDevice holds one,
 * and NVML shuts down when the last one ends. Initialising takes milliseconds: keep one Nvml while
 * NVML is used.
 *
 * Moved, not copied; a moved-from object is empty. A destructor's failure goes to the teardown sink
 * (teardown.hpp). Destructors do not call NVML in the child of a fork, nor once the process has
 * begun to exit.
 *
 * Threads: as for an int; const functions may run on several threads at the same time.
 * Context: none is needed, and only device(Device) initialises the CUDA driver.
 *
 * Errors: library_not_found without NVML; no_device if NVML has no such device; the status of the
 * NVML call, an nvmlReturn_t, with api() Api::library; invalid_argument if empty. */
class Nvml {
  public:
    // Empty.
    Nvml() noexcept = default;

    // Initialises NVML. nvmlInit_v2.
    CUSHIM_API static Result<Nvml> open() noexcept;
    // Another initialisation. nvmlInit_v2.
    CUSHIM_API Result<Nvml> share() const noexcept;
    // Ends this initialisation, as the destructor does, and returns the status; empty afterwards.
    // nvmlShutdown.
    CUSHIM_API Result<void> close() noexcept;

    // Whether this object holds an initialisation.
    explicit operator bool() const noexcept { return static_cast<bool>(use_); }

    // The number of GPUs of the machine, which CUDA_VISIBLE_DEVICES does not change. Counts GPUs,
    // not MIG instances. nvmlDeviceGetCount_v2.
    CUSHIM_API Result<unsigned int> device_count() const noexcept;
    // The GPU with this index, in the order of PCI addresses, from 0 to device_count() - 1.
    // nvmlDeviceGetHandleByIndex_v2.
    CUSHIM_API Result<NvmlDevice> device_at(unsigned int index) const noexcept;
    // The GPU or MIG instance of a CUDA device, by its UUID: the indexes of NVML and CUDA differ.
    // cuDeviceGetUuid_v2, nvmlDeviceGetHandleByUUID.
    CUSHIM_API Result<NvmlDevice> device(Device device) const noexcept;
    // The GPU or MIG instance with this UUID: "GPU-..." or "MIG-...". nvmlDeviceGetHandleByUUID.
    CUSHIM_API Result<NvmlDevice> device_by_uuid(const char *uuid) const noexcept;

    // The version of the NVIDIA driver: "580.95.05". nvmlSystemGetDriverVersion.
    CUSHIM_API Result<NvmlText> driver_version() const noexcept;

  private:
    static Result<NvmlDevice> hold(nvmlDevice_st *device) noexcept;
    explicit Nvml(detail::NvmlUse &&use) noexcept : use_(static_cast<detail::NvmlUse &&>(use)) {}

    detail::NvmlUse use_;
};
CUSHIM_API Text to_text(const Nvml &nvml) noexcept;

} // namespace cushim

#endif
