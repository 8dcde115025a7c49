// Helpers for tests of virtual memory management.
#pragma once

#include "scenario.hpp"

#include <cushim/virtual_memory.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace api_test {

// A device that memory is mapped for, and the granularity.
struct MappingDevice {
    cushim::Device device;
    cushim::Context context; // for copies only
    std::size_t unit;        // the granularity

    static cushim::Result<MappingDevice> make(const cushim::PhysicalMemoryOptions &options = {}) {
        CUSHIM_TRY(const cushim::Device device, cushim::Device::get(0));
        CUSHIM_TRY(auto context, cushim::Context::primary(device));
        CUSHIM_TRY(const auto granularity, cushim::Granularity::of(device, options));
        return MappingDevice{device, std::move(context), granularity.recommended};
    }

    cushim::AccessGrant access(cushim::AccessFlags flags = cushim::AccessFlags::read_write) const {
        return {device, flags};
    }
};

inline MappingDevice mapping_device_after_restart(const std::string &settings = "") {
    restart(settings);
    return ok(MappingDevice::make());
}

template <>
struct Fixture<MappingDevice> {
    static cushim::Result<MappingDevice> make(Trial &trial, const auto &...) {
        trial.may_do_without("cuDeviceGetCount"); // for the message about a missing device
        return MappingDevice::make();
    }
};

// New memory mapped to a new range, accessible to the device.
inline cushim::Result<cushim::MappedRange>
map_new(const MappingDevice &place, std::size_t size,
        const cushim::PhysicalMemoryOptions &options = {}) {
    CUSHIM_TRY(const auto range, cushim::AddressRange::reserve(place.device, size));
    CUSHIM_TRY(const auto memory, cushim::PhysicalMemory::create(place.device, size, options));
    return cushim::MappedRange::map(range, 0, memory, place.access());
}

// The call must fail with a message that contains all of these numbers.
template <class T>
void check_tells(const cushim::Result<T> &result, std::initializer_list<std::size_t> numbers,
                 const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    for (const std::size_t number : numbers) {
        check_refused(result, std::to_string(number), cushim::ErrorKind::invalid_argument, file,
                      line);
    }
}

// In a scenario: success if CUDA rejected the call with this status. Another error is returned.
template <class T>
cushim::Result<void> must_be_refused(const cushim::Result<T> &result, CUresult status) {
    if (result) {
        FAIL_CHECK("CUDA did not refuse it");
        return {};
    }
    return result.error().status() == status ? cushim::Result<void>() : result.error();
}

// A pattern in which every element differs from its neighbours.
inline std::vector<std::uint32_t> pattern(std::size_t count, std::uint32_t seed = 0) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i != count; ++i) {
        values[i] = (static_cast<std::uint32_t>(i) + seed) * 0x9E3779B1u;
    }
    return values;
}

inline cushim::Result<void> write(const MappingDevice &place, CUdeviceptr address,
                                  const std::vector<std::uint32_t> &values) {
    return cushim::copy(place.context, cushim::DeviceSpan<std::uint32_t>(address, values.size()),
                        std::span(values));
}

inline cushim::Result<std::vector<std::uint32_t>> read(const MappingDevice &place,
                                                       CUdeviceptr address, std::size_t count) {
    std::vector<std::uint32_t> values(count);
    CUSHIM_TRY_VOID(cushim::copy(place.context, std::span(values),
                                 cushim::DeviceSpan<const std::uint32_t>(address, count)));
    return values;
}

} // namespace api_test
