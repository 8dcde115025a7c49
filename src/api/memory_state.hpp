// The state of memory: which stream it waits for before it goes, if any.
#pragma once

#include <cushim/stream.hpp>

#include "call.hpp"
#include "in_context.hpp"
#include "ranges.hpp"
#include "release_stream.hpp"

namespace cushim::detail {

struct MemoryState : InContext {
    using InContext::InContext;
    Stream release; // that of release_after()
};

// Memory that goes at once when it is freed.
struct PlainMemoryState : MemoryState {
    using MemoryState::MemoryState;

    Destroyed destroy() noexcept final {
        const Destroyed waited = wait_for_release(release);
        const Destroyed freed = destroy_in(context, [this] { return free(); });
        if (waited.status == CUDA_SUCCESS) {
            return freed;
        }
        report_teardown(freed);
        return waited;
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

// That of device memory which is there already; null for nothing at address 0.
inline Result<State *> adopt_memory(const Context &context, CUdeviceptr address,
                                    std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(need(context, "the context is empty"));
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
    CUSHIM_TRY_VOID(check_release_stream(stream));
    if (State *const state = Access::state(owner)) {
        static_cast<MemoryState *>(state)->release = stream.share();
    }
    return {};
}

} // namespace cushim::detail
