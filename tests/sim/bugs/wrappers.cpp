// Wrappers whose rules are broken.
#include "tools.hpp"

#include <cushim/cushim.hpp>

#include <optional>
#include <utility>

namespace bugs {
namespace {

using cushim::DeviceBuffer;

template <class T>
T made(cushim::Result<T> result) {
    must(result ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
    return std::move(*result);
}

struct Prepared {
    cushim::Context context = made(cushim::Context::primary(made(cushim::Device::get(0))));
    cushim::Stream stream = made(cushim::Stream::create(context));
};

} // namespace

void add_wrapper_bugs(Programs &programs) {
    programs["a span is used after its buffer has ended"] = [](bool buggy) {
        Prepared p;
        std::optional<DeviceBuffer<int>> buffer = made(DeviceBuffer<int>::allocate(p.context, 16));
        const auto span = buffer->span();
        if (buggy) {
            buffer.reset();
        }
        ignore(cushim::fill(p.stream, span, 1));
        ignore(p.stream.synchronize());
    };
    programs["the handle of an owner is destroyed"] = [](bool buggy) {
        Prepared p;
        auto event = made(cushim::Event::create(p.context));
        const CUevent native = buggy ? event.native() : event.release();
        const auto scope = p.context.enter();
        ignore(cuEventDestroy(native));
    };
    programs["a released handle is dropped"] = [](bool buggy) {
        Prepared p;
        auto buffer = made(DeviceBuffer<int>::allocate(p.context, 16));
        if (buggy) {
            ignore(buffer.release());
        }
    };
    programs["a borrowed stream outlives its owner"] = [](bool buggy) {
        Prepared p;
        auto buffer = made(DeviceBuffer<int>::allocate(p.context, 16));
        std::optional<cushim::Stream> owner = made(cushim::Stream::create(p.context));
        const auto borrowed = cushim::Stream::borrow(owner->native());
        if (buggy) {
            owner.reset();
        }
        ignore(cushim::fill(borrowed, buffer, 1));
        ignore(borrowed.synchronize());
    };
}

} // namespace bugs
