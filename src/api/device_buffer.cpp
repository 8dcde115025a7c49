#include <cushim/device_buffer.hpp>

#include "memory_state.hpp"

namespace cushim::detail {
namespace {

// Keeps its stream, in whose order it goes; needs a context only where the stream does not say
// which.
struct StreamMemoryState final : MemoryState {
    StreamMemoryState(const Stream &in, const Context &current) noexcept
        : MemoryState(current), need_stream(in), stream(in.native()) {}

    bool is_gone() const noexcept override { return InContext::is_gone() || need_stream.is_gone(); }
    Destroyed destroy() noexcept override {
        if (context == nullptr) {
            return free();
        }
        const auto scope = enter();
        const Destroyed freed = free();
        if (scope) {
            return freed;
        }
        // It is gone, and with it the order that was to be kept.
        report_teardown(freed);
        return {scope.error().status(), scope.error().entry_point(), address};
    }
    Destroyed free() const noexcept {
        return CUSHIM_DESTROY(cuMemFreeAsync, address, address,
                              release ? release.native() : stream);
    }

    const Need need_stream;
    const CUstream stream;
    CUdeviceptr address = 0;
};

// What the default streams are streams of; empty for others, which know it themselves.
Result<Context> context_behind(const Stream &stream) noexcept {
    const bool is_default =
        stream.native() == CU_STREAM_LEGACY || stream.native() == CU_STREAM_PER_THREAD;
    return is_default ? Context::current() : Result<Context>(Context());
}

} // namespace

Result<DeviceMemory> DeviceMemory::allocate(const Context &context, std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(need(context, "the context is empty"));
    if (bytes == 0) {
        return DeviceMemory();
    }
    CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemAlloc, &state->address, bytes));
    return DeviceMemory({state->address, bytes}, state.take());
}

Result<DeviceMemory> DeviceMemory::adopt(const Context &context, CUdeviceptr address,
                                         std::size_t bytes) noexcept {
    CUSHIM_TRY(State *const state, adopt_memory(context, address, bytes));
    return DeviceMemory({address, bytes}, state);
}

Result<DeviceMemory> DeviceMemory::allocate_async(const Stream &stream,
                                                  std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(need(stream, "the stream is empty"));
    if (bytes == 0) {
        return DeviceMemory();
    }
    CUSHIM_TRY(const Context context, context_behind(stream));
    CUSHIM_TRY(auto state, make_state<StreamMemoryState>(stream, context));
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemAllocAsync, &state->address, bytes, stream.native()));
    return DeviceMemory({state->address, bytes}, state.take());
}

Result<void> DeviceMemory::release_after(const Stream &stream) const noexcept {
    return release_memory_after(*this, stream);
}

Result<void> DeviceMemory::free_async(const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(need(stream, "the stream is empty"));
    if (native() == 0) {
        return {};
    }
    const Result<void> freed = CUSHIM_DRIVER(cuMemFreeAsync, native(), stream.native());
    (void)release(); // as close(): what failed may have been done
    return freed;
}

} // namespace cushim::detail
