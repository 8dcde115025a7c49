// Helpers for tests of several devices and several processes.
#pragma once

#include "../../support/ok.hpp"
#include "../../support/workplace.hpp"
#include "device_code.hpp"
#include "scenario.hpp"

#include <utility>
#include <vector>

namespace api_test {

// Returns all devices. Skips the test case if there are fewer than `least`; on the simulator, whose
// settings give their number, it fails.
inline std::vector<cushim::Device> need_devices(int least) {
    const int count = support::ok(cushim::Device::count());
    if (count < least) {
        if (simulator() != nullptr) {
            FAIL("the simulator has " << count << " devices");
        }
        SKIP("needs " << least << " devices");
    }
    std::vector<cushim::Device> devices;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        devices.push_back(support::ok(cushim::Device::get(ordinal)));
    }
    return devices;
}

// A device with a context, a stream and the tests' kernels.
struct Worker : support::Workplace {
    cushim::Module code;

    static cushim::Result<Worker> on(cushim::Device device) {
        CUSHIM_TRY(auto place, Workplace::on(device));
        CUSHIM_TRY(auto code, load_device_code(place.context));
        return Worker{std::move(place), std::move(code)};
    }

    // Runs a kernel and waits for it.
    cushim::Result<void> fill(cushim::DeviceSpan<int> memory, int value) const {
        const auto count = static_cast<unsigned int>(memory.size());
        CUSHIM_TRY(const auto kernel, code.kernel<Fill>("fill"));
        CUSHIM_TRY_VOID(
            kernel.launch(stream, cushim::LaunchConfig::covering(count), memory, value, count));
        return stream.synchronize();
    }

    // The values that a kernel reads from `memory`, doubled.
    cushim::Result<std::vector<float>> doubled(cushim::DeviceSpan<const float> memory) const {
        const auto count = static_cast<unsigned int>(memory.size());
        CUSHIM_TRY(const auto kernel, code.kernel<Add>("add"));
        CUSHIM_TRY(const auto sums, cushim::DeviceBuffer<float>::allocate(context, count));
        CUSHIM_TRY_VOID(kernel.launch(stream, cushim::LaunchConfig::covering(count), memory, memory,
                                      sums, count));
        CUSHIM_TRY_VOID(stream.synchronize());
        std::vector<float> values(count);
        CUSHIM_TRY_VOID(cushim::copy(context, std::span(values), sums.span()));
        return values;
    }

    cushim::Result<std::vector<int>> read(cushim::DeviceSpan<const int> memory) const {
        std::vector<int> values(memory.size());
        CUSHIM_TRY_VOID(cushim::copy(context, std::span(values), memory));
        return values;
    }
};

} // namespace api_test
