#include <cushim/nvml.hpp>

#include <cushim/detail/loader.h>
#include <cushim/nvml_entry.hpp>

#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "base/state.hpp"
#include "base/with_memory.hpp"

namespace cushim {

using namespace detail;

namespace detail {

// nvmlErrorString() has descriptions only.
template <>
StatusMeaning meaning_of(nvmlReturn_t status) noexcept {
    static constexpr struct {
        nvmlReturn_t status;
        StatusMeaning meaning;
    } rows[] = {
        {NVML_ERROR_UNINITIALIZED, {"NVML_ERROR_UNINITIALIZED"}},
        {NVML_ERROR_INVALID_ARGUMENT, {"NVML_ERROR_INVALID_ARGUMENT"}},
        {NVML_ERROR_NOT_SUPPORTED,
         {"NVML_ERROR_NOT_SUPPORTED", ErrorKind::not_supported_by_device}},
        {NVML_ERROR_NO_PERMISSION, {"NVML_ERROR_NO_PERMISSION", ErrorKind::not_permitted}},
        {NVML_ERROR_NOT_FOUND, {"NVML_ERROR_NOT_FOUND"}},
        {NVML_ERROR_INSUFFICIENT_SIZE, {"NVML_ERROR_INSUFFICIENT_SIZE"}},
        {NVML_ERROR_INSUFFICIENT_POWER, {"NVML_ERROR_INSUFFICIENT_POWER"}},
        {NVML_ERROR_DRIVER_NOT_LOADED, {"NVML_ERROR_DRIVER_NOT_LOADED"}},
        {NVML_ERROR_TIMEOUT, {"NVML_ERROR_TIMEOUT"}},
        {NVML_ERROR_IRQ_ISSUE, {"NVML_ERROR_IRQ_ISSUE"}},
        {NVML_ERROR_LIBRARY_NOT_FOUND, {"NVML_ERROR_LIBRARY_NOT_FOUND"}},
        {NVML_ERROR_FUNCTION_NOT_FOUND, {"NVML_ERROR_FUNCTION_NOT_FOUND"}},
        {NVML_ERROR_CORRUPTED_INFOROM, {"NVML_ERROR_CORRUPTED_INFOROM"}},
        {NVML_ERROR_GPU_IS_LOST, {"NVML_ERROR_GPU_IS_LOST"}},
        {NVML_ERROR_RESET_REQUIRED, {"NVML_ERROR_RESET_REQUIRED"}},
        {NVML_ERROR_OPERATING_SYSTEM, {"NVML_ERROR_OPERATING_SYSTEM"}},
        {NVML_ERROR_LIB_RM_VERSION_MISMATCH, {"NVML_ERROR_LIB_RM_VERSION_MISMATCH"}},
        {NVML_ERROR_IN_USE, {"NVML_ERROR_IN_USE"}},
        {NVML_ERROR_MEMORY, {"NVML_ERROR_MEMORY", ErrorKind::out_of_memory}},
        {NVML_ERROR_NO_DATA, {"NVML_ERROR_NO_DATA"}},
        {NVML_ERROR_INSUFFICIENT_RESOURCES, {"NVML_ERROR_INSUFFICIENT_RESOURCES"}},
        {NVML_ERROR_UNKNOWN, {"NVML_ERROR_UNKNOWN"}},
    };
    for (const auto &row : rows) {
        if (row.status == status) {
            return row.meaning;
        }
    }
    return {""};
}

} // namespace detail

namespace {

// With a remedy for what users of a machine run into; otherwise NVML's own description.
Error described(const Error &error) noexcept {
    switch (error.status()) {
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return explained(error, "the NVIDIA driver's kernel module is not loaded; check with "
                                "nvidia-smi; if this is a container, start it with GPU "
                                "access (docker run --gpus all)");
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return explained(error, "NVML and the NVIDIA driver's loaded kernel module have "
                                "different versions; restart the machine after an update "
                                "of the driver");
    default:
        break;
    }
    // The enumeration type can hold no others.
    if (error.status() < 0 || error.status() > 1023) {
        return error;
    }
    const char *const text = nvml().nvmlErrorString(static_cast<nvmlReturn_t>(error.status()));
    return text != nullptr ? explained(error, "%.200s", text) : error;
}

template <class Entry, class... Arguments>
Result<void> call_nvml(Arguments... arguments) noexcept {
    Result<void> called = call<Entry>(arguments...);
    if (!called && called.error().api() == Api::library) [[unlikely]] {
        return described(called.error());
    }
    return called;
}

// Newer headers may declare a struct of one pointer.
static_assert(sizeof(nvmlDevice_t) == sizeof(nvmlDevice_st *));
nvmlDevice_t native_of(nvmlDevice_st *device) noexcept {
    return std::bit_cast<nvmlDevice_t>(device);
}
nvmlDevice_st *pointer_of(nvmlDevice_t device) noexcept {
    return std::bit_cast<nvmlDevice_st *>(device);
}

template <class Owner>
Result<void> require(const Owner &owner, const char *empty) noexcept {
    return owner ? Result<void>() : Error::invalid_argument(empty);
}
constexpr const char *empty_device = "the NvmlDevice is empty", *empty_nvml = "the Nvml is empty";

// False without the function: NVML is then older than MIG.
Result<bool> is_mig(nvmlDevice_st *device) noexcept {
    unsigned int is = 0;
    const Result<void> asked =
        call_nvml<entry::nvmlDeviceIsMigDeviceHandle>(native_of(device), &is);
    if (!asked && asked.error().kind() != ErrorKind::symbol_not_found) {
        return asked.error();
    }
    return is != 0;
}

// A call for a device; MIG instances lack much of what their GPUs have.
template <class Entry, class... Arguments>
Result<void> ask(const NvmlDevice &device, Arguments... arguments) noexcept {
    CUSHIM_TRY_VOID(require(device, empty_device));
    Result<void> asked = call_nvml<Entry>(native_of(device.native()), arguments...);
    if (asked || asked.error().api() != Api::library ||
        (asked.error().status() != NVML_ERROR_NOT_SUPPORTED &&
         asked.error().status() != NVML_ERROR_INVALID_ARGUMENT) ||
        !is_mig(device.native()).value_or(false)) {
        return asked;
    }
    return explained(asked.error(), "NVML does not report this for a MIG instance; "
                                    "its GPU, NvmlDevice::parent(), may support it");
}

template <class Entry>
Result<NvmlText> text_of(const NvmlDevice &device) noexcept {
    NvmlText text;
    CUSHIM_TRY_VOID(
        ask<Entry>(device, text.characters, static_cast<unsigned int>(sizeof text.characters)));
    return text;
}

// NVML reports the number only if the array is too short, and processes may start meanwhile.
template <class Entry>
Result<std::vector<nvmlProcessInfo_v2_t>> list_processes(const NvmlDevice &device) {
    std::vector<nvmlProcessInfo_v2_t> list;
    for (unsigned int room = 32;; room *= 2) {
        list.resize(room);
        unsigned int count = room;
        const Result<void> asked = ask<Entry>(device, &count, list.data());
        if (asked) {
            list.resize(count < room ? count : room);
            return list;
        }
        if (asked.error().status() != NVML_ERROR_INSUFFICIENT_SIZE || room > 1U << 20) {
            return asked.error();
        }
    }
}

template <class Entry>
Result<std::size_t> processes(const NvmlDevice &device, NvmlProcess *into,
                              std::size_t size) noexcept {
    if (into == nullptr && size != 0) {
        return invalid_argument("the array is null, but its size is %zu", size);
    }
    return with_memory([&]() -> Result<std::size_t> {
        CUSHIM_TRY(const auto list, list_processes<Entry>(device));
        for (std::size_t index = 0; index < list.size() && index < size; ++index) {
            const nvmlProcessInfo_v2_t &from = list[index];
            into[index] = {from.pid, from.usedGpuMemory, from.gpuInstanceId,
                           from.computeInstanceId};
        }
        return list.size();
    });
}

// "GPU-" or "MIG-", and the UUID in groups.
Text uuid_text(const char *prefix, const DeviceUuid &uuid) noexcept {
    Text text;
    int length = std::snprintf(text.characters, sizeof text.characters, "%s", prefix);
    for (std::size_t index = 0; index < sizeof uuid.bytes; ++index) {
        const bool is_group = index == 4 || index == 6 || index == 8 || index == 10;
        length += std::snprintf(text.characters + length,
                                sizeof text.characters - static_cast<std::size_t>(length),
                                is_group ? "-%02x" : "%02x", uuid.bytes[index]);
    }
    return text;
}

Result<nvmlDevice_st *> find(const char *uuid) noexcept {
    nvmlDevice_t found{};
    CUSHIM_TRY_VOID(call_nvml<entry::nvmlDeviceGetHandleByUUID>(uuid, &found));
    return pointer_of(found);
}

bool is_unknown(const Error &error) noexcept {
    return error.api() == Api::library && (error.status() == NVML_ERROR_NOT_FOUND ||
                                           error.status() == NVML_ERROR_INVALID_ARGUMENT);
}

// The same error as no_device.
Error no_device(const Error &error, const char *detail) noexcept {
    return Error::make({.kind = ErrorKind::no_device,
                        .api = Api::library,
                        .status = error.status(),
                        .entry_point = error.entry_point(),
                        .detail = detail,
                        .library = error.library(),
                        .status_name = meaning_of(static_cast<nvmlReturn_t>(error.status())).name});
}

// CUDA does not report whether a UUID is that of a MIG instance.
Result<nvmlDevice_st *> find(Device device) noexcept {
    CUSHIM_TRY(const DeviceUuid uuid, device.uuid());
    const Text of_gpu = uuid_text("GPU-", uuid);
    const Result<nvmlDevice_st *> gpu = find(of_gpu.c_str());
    if (gpu || !is_unknown(gpu.error())) {
        return gpu;
    }
    const Result<nvmlDevice_st *> instance = find(uuid_text("MIG-", uuid).c_str());
    if (instance || !is_unknown(instance.error())) {
        return instance;
    }
    char text[200];
    std::snprintf(text, sizeof text, "NVML has no device with the UUID of CUDA device %d, %s",
                  device.native(), of_gpu.c_str());
    return no_device(gpu.error(), text);
}

} // namespace

namespace detail {

Result<NvmlUse> NvmlUse::begin() noexcept {
    CUSHIM_TRY_VOID(call_nvml<entry::nvmlInit_v2>());
    NvmlUse use;
    use.holder_ = cushim_fork_generation() + 1;
    return use;
}

Result<void> NvmlUse::close() noexcept {
    const unsigned int holder = holder_;
    holder_ = 0;
    if (holder == 0 || cushim_may_call(holder - 1) == 0) {
        return {};
    }
    return call_nvml<entry::nvmlShutdown>();
}

void NvmlUse::end() noexcept {
    const Result<void> closed = close();
    if (!closed) {
        report_teardown({closed.error(), 0});
    }
}

} // namespace detail

Result<NvmlText> NvmlDevice::name() const noexcept {
    return named("NvmlDevice::name", text_of<entry::nvmlDeviceGetName>(*this));
}

Result<NvmlText> NvmlDevice::uuid() const noexcept {
    return named("NvmlDevice::uuid", text_of<entry::nvmlDeviceGetUUID>(*this));
}

Result<NvmlMemory> NvmlDevice::memory() const noexcept {
    return named("NvmlDevice::memory", [&]() -> Result<NvmlMemory> {
        nvmlMemory_t memory{};
        CUSHIM_TRY_VOID(ask<entry::nvmlDeviceGetMemoryInfo>(*this, &memory));
        return NvmlMemory{memory.total, memory.free, memory.used};
    });
}

Result<NvmlUtilization> NvmlDevice::utilization() const noexcept {
    return named("NvmlDevice::utilization", [&]() -> Result<NvmlUtilization> {
        nvmlUtilization_t rates{};
        CUSHIM_TRY_VOID(ask<entry::nvmlDeviceGetUtilizationRates>(*this, &rates));
        return NvmlUtilization{rates.gpu, rates.memory};
    });
}

Result<unsigned int> NvmlDevice::temperature_celsius() const noexcept {
    return named("NvmlDevice::temperature_celsius", [&]() -> Result<unsigned int> {
        unsigned int degrees = 0;
        CUSHIM_TRY_VOID(
            ask<entry::nvmlDeviceGetTemperature>(*this, NVML_TEMPERATURE_GPU, &degrees));
        return degrees;
    });
}

Result<std::size_t> NvmlDevice::compute_processes(NvmlProcess *into,
                                                  std::size_t size) const noexcept {
    return named("NvmlDevice::compute_processes",
                 processes<entry::nvmlDeviceGetComputeRunningProcesses_v2>(*this, into, size));
}

Result<std::size_t> NvmlDevice::graphics_processes(NvmlProcess *into,
                                                   std::size_t size) const noexcept {
    return named("NvmlDevice::graphics_processes",
                 processes<entry::nvmlDeviceGetGraphicsRunningProcesses_v2>(*this, into, size));
}

Result<bool> NvmlDevice::is_mig_instance() const noexcept {
    return named("NvmlDevice::is_mig_instance", [&]() -> Result<bool> {
        CUSHIM_TRY_VOID(require(*this, empty_device));
        return is_mig(native_);
    });
}

Result<NvmlDevice> NvmlDevice::parent() const noexcept {
    return named("NvmlDevice::parent", [&]() -> Result<NvmlDevice> {
        nvmlDevice_t gpu{};
        CUSHIM_TRY_VOID(ask<entry::nvmlDeviceGetDeviceHandleFromMigDeviceHandle>(*this, &gpu));
        CUSHIM_TRY(auto use, NvmlUse::begin());
        return NvmlDevice(static_cast<NvmlUse &&>(use), pointer_of(gpu));
    });
}

Text to_text(const NvmlDevice &device) noexcept {
    if (!device) {
        return {"NvmlDevice(empty)"};
    }
    Text text;
    std::snprintf(text.characters, sizeof text.characters, "NvmlDevice(0x%llx)",
                  reinterpret_cast<unsigned long long>(device.native()));
    return text;
}

Result<Nvml> Nvml::open() noexcept {
    return named("Nvml::open", [&]() -> Result<Nvml> {
        CUSHIM_TRY(auto use, NvmlUse::begin());
        return Nvml(static_cast<NvmlUse &&>(use));
    });
}

Result<Nvml> Nvml::share() const noexcept {
    return named("Nvml::share", [&]() -> Result<Nvml> {
        CUSHIM_TRY_VOID(require(*this, empty_nvml));
        return open();
    });
}

Result<void> Nvml::close() noexcept {
    return named("Nvml::close", use_.close());
}

Result<unsigned int> Nvml::device_count() const noexcept {
    return named("Nvml::device_count", [&]() -> Result<unsigned int> {
        CUSHIM_TRY_VOID(require(*this, empty_nvml));
        unsigned int count = 0;
        CUSHIM_TRY_VOID(call_nvml<entry::nvmlDeviceGetCount_v2>(&count));
        return count;
    });
}

Result<NvmlDevice> Nvml::device_at(unsigned int index) const noexcept {
    return named("Nvml::device_at", [&]() -> Result<NvmlDevice> {
        CUSHIM_TRY_VOID(require(*this, empty_nvml));
        nvmlDevice_t found{};
        const Result<void> asked = call_nvml<entry::nvmlDeviceGetHandleByIndex_v2>(index, &found);
        if (!asked && is_unknown(asked.error())) {
            char text[80];
            const Result<unsigned int> count = device_count();
            std::snprintf(text, sizeof text, "NVML has no device %u; the number of devices is %u",
                          index, count.value_or(0U));
            return no_device(asked.error(), text);
        }
        CUSHIM_TRY_VOID(asked);
        return hold(pointer_of(found));
    });
}

Result<NvmlDevice> Nvml::device(Device device) const noexcept {
    return named("Nvml::device", [&]() -> Result<NvmlDevice> {
        CUSHIM_TRY_VOID(require(*this, empty_nvml));
        CUSHIM_TRY(nvmlDevice_st *const found, find(device));
        return hold(found);
    });
}

Result<NvmlDevice> Nvml::device_by_uuid(const char *uuid) const noexcept {
    return named("Nvml::device_by_uuid", [&]() -> Result<NvmlDevice> {
        CUSHIM_TRY_VOID(require(*this, empty_nvml));
        if (uuid == nullptr) {
            return Error::invalid_argument("the UUID is null");
        }
        const Result<nvmlDevice_st *> found = find(uuid);
        if (!found && is_unknown(found.error())) {
            char text[200];
            std::snprintf(text, sizeof text, "NVML has no device with the UUID \"%.100s\"", uuid);
            return no_device(found.error(), text);
        }
        CUSHIM_TRY(nvmlDevice_st *const device, found);
        return hold(device);
    });
}

// The device keeps NVML initialised by itself.
Result<NvmlDevice> Nvml::hold(nvmlDevice_st *device) noexcept {
    CUSHIM_TRY(auto use, NvmlUse::begin());
    return NvmlDevice(static_cast<NvmlUse &&>(use), device);
}

Result<NvmlText> Nvml::driver_version() const noexcept {
    return named("Nvml::driver_version", [&]() -> Result<NvmlText> {
        CUSHIM_TRY_VOID(require(*this, empty_nvml));
        NvmlText text;
        CUSHIM_TRY_VOID(call_nvml<entry::nvmlSystemGetDriverVersion>(
            text.characters, static_cast<unsigned int>(sizeof text.characters)));
        return text;
    });
}

Text to_text(const Nvml &nvml) noexcept {
    return nvml ? Text{"Nvml(initialised)"} : Text{"Nvml(empty)"};
}

} // namespace cushim
