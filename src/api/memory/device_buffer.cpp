#include <cushim/device_buffer.hpp>

#include "allocation.hpp"
#include "context/current_call.hpp"
#include "memory_state.hpp"

namespace cushim::detail {

Result<DeviceMemory> DeviceMemory::allocate(const Context &context, std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    if (bytes == 0) {
        return DeviceMemory({.zero_length = true}, nullptr);
    }
    CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
    CUSHIM_TRY_VOID(call_in(state->context, nullptr, [address = &state->address, bytes] {
        return CUSHIM_ALLOCATE(bytes, available_here, cuMemAlloc, address, bytes);
    }));
    return DeviceMemory({state->address, bytes}, state.take());
}

Result<DeviceMemory> DeviceMemory::adopt(const Context &context, CUdeviceptr address,
                                         std::size_t bytes) noexcept {
    CUSHIM_TRY(State *const state, adopt_memory(context, address, bytes));
    return DeviceMemory({address, bytes, bytes == 0}, state);
}

Result<DeviceMemory> DeviceMemory::allocate_async(const Stream &stream,
                                                  std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    if (bytes == 0) {
        return DeviceMemory({.zero_length = true}, nullptr);
    }
    Context context;
    if (Access::state(stream) == nullptr) [[unlikely]] {
        CUSHIM_TRY(context, context_behind(stream));
    }
    CUSHIM_TRY(auto state, make_state<StreamMemoryState>(stream, context));
    const auto available = [&stream] { return available_to(stream); };
    CUSHIM_TRY_VOID(CUSHIM_ALLOCATE(bytes, available, cuMemAllocAsync, &state->address, bytes,
                                    stream.native()));
    return DeviceMemory({state->address, bytes}, state.take());
}

Result<void> DeviceMemory::release_after(const Stream &stream) const noexcept {
    return CUSHIM_NAMED(release_memory_after(*this, stream));
}

Result<void> DeviceMemory::free_async(const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    if (native() == 0) {
        return {};
    }
    if (Access::state(*this)->owners.load(std::memory_order_acquire) != 1) {
        CUSHIM_TRY_VOID(release_after(stream)); // graph nodes use it
        return CUSHIM_NAMED(close());
    }
    const Result<void> freed = CUSHIM_DRIVER(cuMemFreeAsync, native(), stream.native());
    (void)release(); // as in close(): a failed free may have taken effect
    return freed;
}

} // namespace cushim::detail
