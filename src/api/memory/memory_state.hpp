// Memory: its states, by how it is freed, and calls that allocate it.
#pragma once

#include <cushim/device.hpp>
#include <cushim/stream.hpp>

#include <cstddef>
#include <optional>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "context/release_stream.hpp"
#include "context/stream_context.hpp"

namespace cushim::detail {

struct MemoryState : InContext {
    using InContext::InContext;
    // The stream in whose order the memory is allocated; empty if it is not.
    virtual Stream order() const noexcept { return {}; }

    Stream release_stream; // that of release_after(), from keep_for_release()
};

// Memory that is freed in its context, unless that cannot be entered.
struct FreedInContext : MemoryState {
    using MemoryState::MemoryState;

    Destroyed destroy() noexcept final {
        return destroy_after(release_stream,
                             [this] { return destroy_in(context, [this] { return free(); }); });
    }

    virtual Destroyed free() noexcept = 0;
};

// Memory of DeviceBuffer, PitchedBuffer and ManagedBuffer. cuMemFree() needs no current context; if
// a driver asks for one nevertheless, the call is repeated in the context of the memory.
struct DeviceMemoryState final : MemoryState {
    using MemoryState::MemoryState;

    Destroyed destroy() noexcept override {
        return destroy_after(release_stream, [this] {
            Destroyed freed = free();
            return freed.status() != CUDA_ERROR_INVALID_CONTEXT
                       ? freed
                       : destroy_in(context, [this] { return free(); });
        });
    }

    CUdeviceptr address = 0;

  private:
    Destroyed free() const noexcept { return {call<entry::cuMemFree>(address), address}; }
};

// Memory that is freed in stream order; keeps the stream alive. Enters a context only if the stream
// does not determine it, as a default stream. If that context cannot be entered, the call is made
// outside it: it may fail, or free the memory in the order of another context's default stream.
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

    Stream order() const noexcept override {
        Stream shared;
        keep_stream.share(shared, stream);
        return shared;
    }

    const KeepAlive keep_stream;
    const CUstream stream;
    CUdeviceptr address = 0;

  private:
    Destroyed free() const noexcept {
        const bool is_released =
            Access::state(release_stream) != nullptr && is_there(release_stream);
        const CUstream in_order_of = is_released ? release_stream.native() : stream;
        if (in_order_of == CU_STREAM_LEGACY) {
            Destroyed refused = ask_legacy();
            if (!refused.result) {
                return refused;
            }
        }
        return {call<entry::cuMemFreeAsync>(address, in_order_of), address};
    }

    // While a blocking stream of the context captures, CUDA rejects work in the legacy stream and
    // invalidates the capture. A query of the legacy stream returns the same status without any
    // harm.
    Destroyed ask_legacy() const noexcept {
        CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
        Destroyed asked(call<entry::cuStreamIsCapturing>(stream, &capture), address);
        if (asked.status() == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
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

// The state of memory that is allocated in the order of the stream.
template <class S, class... Arguments>
Result<NewState<S>> make_stream_state(const Stream &stream,
                                      const Arguments &...arguments) noexcept {
    Context context;
    if (Access::state(stream) == nullptr) [[unlikely]] {
        CUSHIM_TRY(context, context_behind(stream));
    }
    return make_state<S>(arguments..., stream, context);
}

inline Error null_address(std::size_t bytes) noexcept {
    return invalid_argument("the address is null, but the size is %zu byte%s", bytes,
                            plural(bytes));
}

// For owners of memory.
template <class Value>
Result<void> release_memory_after(const Owner<Value> &owner, const Stream &stream) noexcept {
    CUSHIM_TRY(Stream kept, keep_for_release(stream));
    if (State *const state = Access::state(owner)) {
        static_cast<MemoryState *>(state)->release_stream = static_cast<Stream &&>(kept);
    }
    return {};
}

// --- calls that allocate: a failure says how many bytes were requested, and how many are free

// What CUDA reports, in bytes.
struct Available {
    std::optional<std::size_t> free;           // memory of the device
    std::optional<std::size_t> used_from_pool; // by all allocations from the pool
};

// For memory of the host.
inline Available unknown() noexcept {
    return {};
}
// In the current context.
Available available_here() noexcept;
// In the context of the stream.
Available available_to(const Stream &stream) noexcept;
// On the device; unknown if its primary context is not active, since a query would create it.
Available available_on(Device device) noexcept;

// The error of an allocation for which there is not enough memory, with these numbers.
Error not_allocated(const Error &error, std::size_t bytes, const Available &available) noexcept;

template <class Entry, class F>
[[gnu::cold, gnu::noinline]] Result<void> not_allocated_by(CUresult status, std::size_t bytes,
                                                           const F &available) noexcept {
    const Error error = failure_of<Entry>(status);
    return status == CUDA_ERROR_OUT_OF_MEMORY ? not_allocated(error, bytes, available()) : error;
}

// call() for an allocation of `bytes` bytes. `available` is called only if memory is exhausted.
template <class Entry, class F, class... Arguments>
Result<void> allocating_call(std::size_t bytes, const F &available,
                             Arguments... arguments) noexcept {
    const CUresult status = status_of<Entry>(arguments...);
    if (status == CUDA_SUCCESS) [[likely]] {
        return {};
    }
    return not_allocated_by<Entry>(status, bytes, available);
}

} // namespace cushim::detail
