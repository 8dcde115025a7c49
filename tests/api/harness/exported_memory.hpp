// Exported memory that every machine with these tests can make: physical CUDA memory, which can be
// imported as external memory on the simulator and on a GPU.
#pragma once

#ifndef _WIN32
#include "../../support/child_process.hpp"
#include "scenario.hpp"

#include <cushim/external_memory.hpp>
#include <cushim/virtual_memory.hpp>

#include <fcntl.h>

namespace api_test {

struct ExportedMemory {
    cushim::PhysicalMemory memory;
    cushim::UniqueFd fd;

    cushim::ExternalMemorySource source() {
        return cushim::ExternalMemorySource::opaque_fd(static_cast<cushim::UniqueFd &&>(fd));
    }
    std::size_t size() const { return memory.size(); }
};

// At least this many bytes, on device 0.
inline cushim::Result<ExportedMemory> export_memory(std::size_t size) {
    const cushim::PhysicalMemoryOptions options{.exportable = {.posix_fd = true}};
    CUSHIM_TRY(const auto device, cushim::Device::get(0));
    CUSHIM_TRY(const auto granularity, cushim::Granularity::of(device, options));
    CUSHIM_TRY(const std::size_t whole, granularity.round_up(size));
    CUSHIM_TRY(auto memory, cushim::PhysicalMemory::create(device, whole, options));
    CUSHIM_TRY(auto fd, memory.export_fd());
    return ExportedMemory{static_cast<cushim::PhysicalMemory &&>(memory),
                          static_cast<cushim::UniqueFd &&>(fd)};
}

inline cushim::Result<cushim::ExternalMemory> import_whole(const cushim::Context &context,
                                                           ExportedMemory &exported) {
    return cushim::ExternalMemory::import_from(context, exported.source(), exported.size());
}

// For test cases: imports all of the memory into the primary context.
struct Imported {
    explicit Imported(std::size_t at_least = 1)
        : exported(ok(export_memory(at_least))), memory(ok(import_whole(context, exported))) {}

    cushim::Context context = context_after_restart("");
    ExportedMemory exported;
    cushim::ExternalMemory memory;
};

inline CUDA_ARRAY3D_DESCRIPTOR image_of(CUarray_format format, std::size_t width,
                                        std::size_t height = 0, unsigned int channels = 1) {
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = width;
    description.Height = height;
    description.Format = format;
    description.NumChannels = channels;
    return description;
}

// Maps the exported memory in this process, too.
inline cushim::Result<cushim::MappedRange> map_own(const cushim::PhysicalMemory &memory) {
    CUSHIM_TRY(const cushim::Device device, cushim::Device::get(0));
    CUSHIM_TRY(const auto range, cushim::AddressRange::reserve(device, memory.size()));
    return cushim::MappedRange::map(range, 0, memory,
                                    cushim::AccessGrant(device, cushim::AccessFlags::read_write));
}

// A descriptor of neither memory nor a semaphore.
inline cushim::UniqueFd null_device() {
    return cushim::UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
}

} // namespace api_test
#endif
