// A device, its primary context and a stream, in which the work of a test runs.
#pragma once

#include <cushim/context.hpp>
#include <cushim/device.hpp>
#include <cushim/result.hpp>
#include <cushim/stream.hpp>

#include <utility>

namespace support {

struct Workplace {
    cushim::Device device;
    cushim::Context context;
    cushim::Stream stream;

    static cushim::Result<Workplace> on(cushim::Device device,
                                        const cushim::StreamOptions &options = {}) {
        CUSHIM_TRY(cushim::Context context, cushim::Context::primary(device));
        return in(std::move(context), device, options);
    }
    // In another context of the device.
    static cushim::Result<Workplace> in(cushim::Context context, cushim::Device device,
                                        const cushim::StreamOptions &options = {}) {
        CUSHIM_TRY(cushim::Stream stream, cushim::Stream::create(context, options));
        return Workplace{device, std::move(context), std::move(stream)};
    }
    // On the first device.
    static cushim::Result<Workplace> first(const cushim::StreamOptions &options = {}) {
        CUSHIM_TRY(const cushim::Device device, cushim::Device::get(0));
        return on(device, options);
    }
};

} // namespace support
