// Helpers for tests of several devices and several processes.
#pragma once

#include "../../support/ok.hpp"
#include "../../support/workplace.hpp"
#include "device_code.hpp"
#include "scenario.hpp"

#include <cushim/access.hpp>
#include <cushim/device_buffer.hpp>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace api_test {

// Returns all devices. Skips the test case if there are fewer than `least`; on the simulator, whose
// settings give their number, it fails.
inline std::vector<cushim::Device> need_devices(int least) {
    const int count = ok(cushim::Device::count());
    if (count < least) {
        if (simulator() != nullptr) {
            FAIL("the simulator has " << count << " devices");
        }
        SKIP("needs " << least << " devices");
    }
    std::vector<cushim::Device> devices;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        devices.push_back(ok(cushim::Device::get(ordinal)));
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
        CUSHIM_TRY(auto sums, cushim::DeviceBuffer<float>::allocate(context, count));
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

// --- all devices of the machine

// Settings of the simulator with several devices: API_TEST_DEVICES, which is 4 by default.
inline std::string many_devices(const std::string &more = "") {
    const char *const count = std::getenv("API_TEST_DEVICES");
    return std::string("devices=") + (count != nullptr ? count : "4") + more;
}

inline std::vector<Worker> workers(const std::vector<cushim::Device> &devices) {
    std::vector<Worker> all;
    for (const cushim::Device device : devices) {
        all.push_back(ok(Worker::on(device)));
    }
    return all;
}

inline bool is_accessible(cushim::Device from, cushim::Device memory) {
    return from == memory || ok(from.can_access(memory));
}

// The devices with access to the memory of `memory`, which is one of them.
inline std::vector<cushim::AccessGrant> grants_for(const std::vector<cushim::Device> &devices,
                                                   cushim::Device memory) {
    std::vector<cushim::AccessGrant> grants;
    for (const cushim::Device device : devices) {
        if (is_accessible(device, memory)) {
            grants.emplace_back(device, cushim::AccessFlags::read_write);
        }
    }
    return grants;
}

// A worker on each device; the index is the device's ordinal.
struct Workers {
    std::vector<cushim::Device> devices;
    std::vector<Worker> all;

    // Calls function(one, other) for every pair of two devices, in both orders.
    template <class Function>
    void each_pair(const Function &function) const {
        for (const Worker &one : all) {
            for (const Worker &other : all) {
                if (one.device != other.device) {
                    INFO("devices " << one.device.native() << " and " << other.device.native());
                    function(one, other);
                }
            }
        }
    }
    // The same for the pairs in which `one` can access the memory of `other`.
    template <class Function>
    void each_pair_with_access(const Function &function) const {
        each_pair([&](const Worker &one, const Worker &other) {
            if (is_accessible(one.device, other.device)) {
                function(one, other);
            }
        });
    }
};

// Skips the test case on a machine with one device.
inline Workers many_workers(const std::string &more_settings = "") {
    restart(many_devices(more_settings));
    auto devices = need_devices(2);
    auto all = workers(devices);
    return {std::move(devices), std::move(all)};
}

// Also skips the test case if no device can access another's memory.
inline Workers workers_with_access() {
    Workers made = many_workers();
    bool any = false;
    made.each_pair_with_access([&](const Worker &, const Worker &) { any = true; });
    if (!any) {
        SKIP("no device of this machine can access another's memory");
    }
    return made;
}

} // namespace api_test
