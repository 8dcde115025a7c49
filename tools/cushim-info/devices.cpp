#include "gather.hpp"

#include <cuda.h>
#include <cushim/driver_table.hpp>

namespace cushim_info {
namespace {

Answer answer_of(CUresult status) {
    Answer answer;
    answer.status = static_cast<int>(status);
    const char *name = nullptr;
    if (cushim::driver().cuGetErrorName(status, &name) == CUDA_SUCCESS && name != nullptr) {
        answer.name = name;
    }
    const char *text = nullptr;
    if (cushim::driver().cuGetErrorString(status, &text) == CUDA_SUCCESS && text != nullptr) {
        answer.text = text;
    }
    return answer;
}

// Keeps the first failure, which explains later ones.
bool worked(Device &device, const char *call, CUresult status) {
    if (status != CUDA_SUCCESS && device.problem.empty()) {
        device.problem = std::string(call) + " returned " + answer_text(answer_of(status));
    }
    return status == CUDA_SUCCESS;
}

bool ask_attribute(Device &device, CUdevice handle, CUdevice_attribute attribute, int &value) {
    return worked(device, "cuDeviceGetAttribute",
                  cushim::driver().cuDeviceGetAttribute(&value, attribute, handle));
}

Device ask_device(int ordinal) {
    const cushim::DriverTable cu = cushim::driver();
    Device device;
    device.ordinal = ordinal;
    CUdevice handle = 0;
    if (!worked(device, "cuDeviceGet", cu.cuDeviceGet(&handle, ordinal))) {
        return device;
    }
    char name[256] = {};
    if (worked(device, "cuDeviceGetName", cu.cuDeviceGetName(name, sizeof name - 1, handle))) {
        device.name = name;
    }
    int major = 0;
    int minor = 0;
    if (ask_attribute(device, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major) &&
        ask_attribute(device, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor)) {
        device.compute_capability = std::to_string(major) + "." + std::to_string(minor);
    }
    std::size_t bytes = 0;
    if (worked(device, "cuDeviceTotalMem", cu.cuDeviceTotalMem(&bytes, handle))) {
        device.total_memory = bytes;
    }
    int mode = CU_COMPUTEMODE_DEFAULT;
    if (ask_attribute(device, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, mode) &&
        mode == CU_COMPUTEMODE_PROHIBITED) {
        device.problem = "its compute mode prohibits CUDA contexts (nvidia-smi -c DEFAULT)";
    }
    return device;
}

} // namespace

void ask_devices(Info &info) {
    const CUresult init = cushim::driver().cuInit(0);
    info.init = answer_of(init);
    if (init != CUDA_SUCCESS) {
        return;
    }
    int count = 0;
    const CUresult counted = cushim::driver().cuDeviceGetCount(&count);
    info.count = answer_of(counted);
    if (counted != CUDA_SUCCESS) {
        return;
    }
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        info.devices.push_back(ask_device(ordinal));
    }
}

} // namespace cushim_info
