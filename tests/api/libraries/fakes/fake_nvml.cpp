// An NVML of two GPUs, the second with a MIG instance, whose UUIDs the test sets. FAKE_OLD: without
// the functions for MIG and processes.
#include "fake_calls.hpp"

#include <cstring>

namespace {

struct Device {
    std::string uuid;
    const char *name;
    bool is_mig;
};
Device devices[] = {{"GPU-0", "First GPU", false},
                    {"GPU-1", "Second GPU", false},
                    {"MIG-2", "Second GPU MIG 1g.10gb", true}};

constexpr int not_supported = 3, not_found = 6, insufficient_size = 7;

// As NVML counts them.
int initialisations = 0;
unsigned int process_count = 2;

// Fails without an initialisation.
int enter_started(const std::string &call) {
    const int status = enter(call);
    return status == 0 && initialisations == 0 ? 1 : status;
}

int copy(const std::string &from, char *to, unsigned int size) {
    if (from.size() >= size) {
        return insufficient_size;
    }
    std::memcpy(to, from.c_str(), from.size() + 1);
    return 0;
}

// Of a whole GPU only.
int enter_gpu(const char *call, const Device *device) {
    const int status = enter_started(call);
    return status == 0 && device->is_mig ? not_supported : status;
}

[[maybe_unused]] constexpr unsigned int first_pid = 100;

} // namespace

FAKE void fake_set_uuid(int index, const char *uuid) {
    devices[index].uuid = uuid;
}
FAKE void fake_set_process_count(unsigned int count) {
    process_count = count;
}

FAKE const char *nvmlErrorString(int status) {
    return status == not_supported ? "Not Supported" : "The Fake's Description";
}
FAKE int nvmlInit_v2() {
    const int status = enter("nvmlInit_v2");
    if (status == 0) {
        ++initialisations;
        ++live_objects;
    }
    return status;
}
FAKE int nvmlShutdown() {
    --initialisations;
    --live_objects;
    return enter("nvmlShutdown");
}
FAKE int nvmlSystemGetDriverVersion(char *text, unsigned int size) {
    const int status = enter_started("nvmlSystemGetDriverVersion");
    return status != 0 ? status : copy("580.95.05", text, size);
}
FAKE int nvmlDeviceGetCount_v2(unsigned int *count) {
    *count = 2;
    return enter_started("nvmlDeviceGetCount_v2");
}
FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device **device) {
    const int status = enter_started("nvmlDeviceGetHandleByIndex_v2 " + std::to_string(index));
    if (status != 0 || index > 1) {
        return status != 0 ? status : 2;
    }
    *device = &devices[index];
    return 0;
}
FAKE int nvmlDeviceGetHandleByUUID(const char *uuid, Device **found) {
    const int status = enter_started("nvmlDeviceGetHandleByUUID " + std::string(uuid));
    for (Device &device : devices) {
        if (status == 0 && device.uuid == uuid) {
            *found = &device;
            return 0;
        }
    }
    return status != 0 ? status : not_found;
}
FAKE int nvmlDeviceGetName(const Device *device, char *text, unsigned int size) {
    const int status = enter_started("nvmlDeviceGetName");
    return status != 0 ? status : copy(device->name, text, size);
}
FAKE int nvmlDeviceGetUUID(const Device *device, char *text, unsigned int size) {
    const int status = enter_started("nvmlDeviceGetUUID");
    return status != 0 ? status : copy(device->uuid, text, size);
}
FAKE int nvmlDeviceGetMemoryInfo(const Device *, unsigned long long *memory) {
    memory[0] = 80ULL << 30;
    memory[1] = 79ULL << 30;
    memory[2] = 1ULL << 30;
    return enter_started("nvmlDeviceGetMemoryInfo");
}
FAKE int nvmlDeviceGetUtilizationRates(const Device *device, unsigned int *rates) {
    rates[0] = 70;
    rates[1] = 20;
    return enter_gpu("nvmlDeviceGetUtilizationRates", device);
}
FAKE int nvmlDeviceGetTemperature(const Device *device, int sensor, unsigned int *degrees) {
    *degrees = 41;
    const int status = enter_gpu("nvmlDeviceGetTemperature", device);
    return sensor == 0 ? status : not_supported;
}
#ifndef FAKE_OLD
FAKE int nvmlDeviceIsMigDeviceHandle(const Device *device, unsigned int *is_mig) {
    *is_mig = device->is_mig ? 1 : 0;
    return enter_started("nvmlDeviceIsMigDeviceHandle");
}
FAKE int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(const Device *device, Device **gpu) {
    const int status = enter_started("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    *gpu = &devices[1];
    return status != 0 || device->is_mig ? status : not_found;
}
struct Process {
    unsigned int pid;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
};
static int list_processes(const char *call, unsigned int *count, Process *into) {
    const int status = enter_started(std::string(call) + " " + std::to_string(*count));
    const unsigned int room = *count;
    *count = process_count;
    if (status != 0 || room < process_count) {
        return status != 0 ? status : insufficient_size;
    }
    for (unsigned int index = 0; index < process_count; ++index) {
        into[index] = {first_pid + index, index == 0 ? 5ULL << 20 : ~0ULL, ~0U, ~0U};
    }
    return 0;
}
FAKE int nvmlDeviceGetComputeRunningProcesses_v2(const Device *, unsigned int *count,
                                                 Process *into) {
    return list_processes("nvmlDeviceGetComputeRunningProcesses_v2", count, into);
}
FAKE int nvmlDeviceGetGraphicsRunningProcesses_v2(const Device *, unsigned int *count,
                                                  Process *into) {
    return list_processes("nvmlDeviceGetGraphicsRunningProcesses_v2", count, into);
}
#endif
