// States of memory: freed immediately, after a stream, or in stream order.
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
    Stream release; // the stream of release_after(), see keep_for_release()
};

// Memory that is freed immediately.
struct PlainMemoryState : MemoryState {
    using MemoryState::MemoryState;

    Destroyed destroy() noexcept final {
        return destroy_after(release,
                             [this] { return destroy_in(context, [this] { return free(); }); });
    }

    // Called in its context.
    virtual Destroyed free() noexcept = 0;
};

// State of buffers, including pitched and managed ones. cuMemFree() finds the context by the
// address; if a driver requires a current context nevertheless, it is entered.
struct DeviceMemoryState final : MemoryState {
    using MemoryState::MemoryState;

    Destroyed destroy() noexcept override {
        return destroy_after(release, [this] {
            const Destroyed freed = free();
            return freed.status != CUDA_ERROR_INVALID_CONTEXT
                       ? freed
                       : destroy_in(context, [this] { return free(); });
        });
    }

    CUdeviceptr address = 0;

  private:
    Destroyed free() const noexcept { return CUSHIM_DESTROY(cuMemFree, address, address); }
};

// Memory that is freed in stream order; keeps the stream alive. Enters a context only if the stream
// does not determine it. If that context cannot be entered, the memory is freed immediately,
// without the order.
struct StreamMemoryState : MemoryState {
    // `of` is context_behind(in), or empty if the stream has a state.
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
        const bool is_released = Access::state(release) != nullptr && is_there(release);
        const CUstream in_order_of = is_released ? release.native() : stream;
        if (in_order_of == CU_STREAM_LEGACY) {
            const Destroyed refused = ask_legacy();
            if (refused.status != CUDA_SUCCESS) {
                return refused;
            }
        }
        return CUSHIM_DESTROY(cuMemFreeAsync, address, address, in_order_of);
    }

    // While a blocking stream of the context captures, CUDA rejects work in the legacy stream and
    // invalidates the capture. A query of the legacy stream returns the same status without any
    // harm.
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

// The context of a stream without a state, so that its reset is detected: the current context for a
// default stream. Other streams detect it themselves.
[[gnu::cold]] inline Result<Context> context_behind(const Stream &stream) noexcept {
    return is_default(stream.native()) ? Context::current() : stream.context();
}

inline Error null_address(std::size_t bytes) noexcept {
    return invalid_argument("the address is null, but the size is %zu byte%s", bytes,
                            bytes == 1 ? "" : "s");
}

// The state of existing device memory; null for 0 bytes at address 0.
inline Result<State *> adopt_memory(const Context &context, CUdeviceptr address,
                                    std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    if (address == 0 && bytes == 0) {
        return static_cast<State *>(nullptr);
    }
    if (address == 0) {
        return null_address(bytes);
    }
    CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
    state->address = address;
    return static_cast<State *>(state.take());
}

// For owners of memory.
template <class Value>
Result<void> release_memory_after(const Owner<Value> &owner, const Stream &stream) noexcept {
    CUSHIM_TRY(Stream kept, keep_for_release(stream));
    if (State *const state = Access::state(owner)) {
        static_cast<MemoryState *>(state)->release = static_cast<Stream &&>(kept);
    }
    return {};
}

} // namespace cushim::detail
