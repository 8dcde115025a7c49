// The states of memory: freed at once, after a stream, or in the order of a stream.
#pragma once

#include <cushim/stream.hpp>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "context/release_stream.hpp"
#include "context/stream_context.hpp"

namespace cushim::detail {

struct MemoryState : InContext {
    using InContext::InContext;
    Stream release; // that of release_after(): keep_for_release()
};

// Memory that goes at once when it is freed.
struct PlainMemoryState : MemoryState {
    using MemoryState::MemoryState;

    Destroyed destroy() noexcept final {
        return destroy_after(release,
                             [this] { return destroy_in(context, [this] { return free(); }); });
    }

    // In its context.
    virtual Destroyed free() noexcept = 0;
};

// Of buffers, pitched and managed ones too.
struct DeviceMemoryState final : PlainMemoryState {
    using PlainMemoryState::PlainMemoryState;
    Destroyed free() noexcept override { return CUSHIM_DESTROY(cuMemFree, address, address); }
    CUdeviceptr address = 0;
};

// Memory that goes in order of a stream, which it keeps; goes in a context only where the stream
// does not say which it is of. Where that cannot be entered the memory goes all the same, and with
// it the order that was to be kept.
struct StreamMemoryState : MemoryState {
    // `of` is context_behind(in).
    StreamMemoryState(const Stream &in, const Context &of) noexcept
        : MemoryState(of), keep_stream(in), stream(in.native()) {
        device_ordinal =
            ordinal_of(is_default(in.native()) ? Access::state(of) : Access::state(in));
    }

    bool is_gone() const noexcept override { return InContext::is_gone() || keep_stream.is_gone(); }
    Destroyed destroy() noexcept override {
        return is_default(stream) ? destroy_in(context, [this] { return free(); }) : free();
    }

    const KeepAlive keep_stream;
    const CUstream stream;
    CUdeviceptr address = 0;

  private:
    Destroyed free() const noexcept {
        const CUstream in_order_of = is_there(release) ? release.native() : stream;
        if (in_order_of == CU_STREAM_LEGACY) {
            const Destroyed refused = ask_legacy();
            if (refused.status != CUDA_SUCCESS) {
                return refused;
            }
        }
        return CUSHIM_DESTROY(cuMemFreeAsync, address, address, in_order_of);
    }

    // While a blocking stream of its context is captured, CUDA refuses work in the legacy stream
    // and ruins the capture. Asked about itself, the stream answers the same, and no harm is done.
    Destroyed ask_legacy() const noexcept {
        CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
        const Destroyed asked = CUSHIM_DESTROY(cuStreamIsCapturing, address, stream, &capture);
        if (asked.status == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
            return asked;
        }
        report_teardown(asked);
        return {};
    }
};

// What the default streams are streams of now, and what a borrowed one is of, so that a reset of
// that is known; empty for others, which know it themselves.
inline Result<Context> context_behind(const Stream &stream) noexcept {
    if (is_default(stream.native())) {
        return Context::current();
    }
    return Access::state(stream) == nullptr ? stream.context() : Result<Context>(Context());
}

// That of device memory which is there already; null for nothing at address 0.
inline Result<State *> adopt_memory(const Context &context, CUdeviceptr address,
                                    std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(require(context, "the context is empty"));
    if (address == 0 && bytes == 0) {
        return static_cast<State *>(nullptr);
    }
    if (address == 0) {
        return invalid_argument("%zu bytes at address 0", bytes);
    }
    CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
    state->address = address;
    return static_cast<State *>(state.take());
}

// For owners whose states are of memory.
template <class Value>
Result<void> release_memory_after(const Owner<Value> &owner, const Stream &stream) noexcept {
    CUSHIM_TRY(Stream kept, keep_for_release(stream));
    if (State *const state = Access::state(owner)) {
        static_cast<MemoryState *>(state)->release = static_cast<Stream &&>(kept);
    }
    return {};
}

} // namespace cushim::detail
