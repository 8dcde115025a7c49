#include <cushim/device_buffer.hpp>

#include "memory_state.hpp"

namespace cushim::detail {

Result<DeviceMemory> DeviceMemory::allocate(const Context &context, std::size_t count,
                                            std::size_t element_size) noexcept {
    return named("DeviceBuffer::allocate", [&]() -> Result<DeviceMemory> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(const std::size_t bytes, bytes_of(count, element_size));
        if (bytes == 0) {
            return DeviceMemory({.zero_length = true}, nullptr);
        }
        CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
        CUSHIM_TRY_VOID(call_in(state->context, [address = &state->address, bytes] {
            return allocating_call<entry::cuMemAlloc>(bytes, available_here, address, bytes);
        }));
        return DeviceMemory({state->address, bytes}, state.take());
    });
}

Result<DeviceMemory> DeviceMemory::adopt(const Context &context, CUdeviceptr address,
                                         std::size_t count, std::size_t element_size) noexcept {
    return named("DeviceBuffer::adopt", [&]() -> Result<DeviceMemory> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(const std::size_t bytes, bytes_of(count, element_size));
        if (address == 0 && bytes == 0) {
            return DeviceMemory({.zero_length = true}, nullptr);
        }
        if (address == 0) {
            return null_address(bytes);
        }
        CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
        state->address = address;
        return DeviceMemory({address, bytes, bytes == 0}, state.take());
    });
}

Result<DeviceMemory> DeviceMemory::allocate_async(const Stream &stream, std::size_t count,
                                                  std::size_t element_size) noexcept {
    return named("DeviceBuffer::allocate_async", [&]() -> Result<DeviceMemory> {
        CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
        CUSHIM_TRY(const std::size_t bytes, bytes_of(count, element_size));
        if (bytes == 0) {
            return DeviceMemory({.zero_length = true}, nullptr);
        }
        CUSHIM_TRY(auto state, make_stream_state<StreamMemoryState>(stream));
        const auto available = [&stream] { return available_to(stream); };
        CUSHIM_TRY_VOID(allocating_call<entry::cuMemAllocAsync>(bytes, available, &state->address,
                                                                bytes, stream.native()));
        return DeviceMemory({state->address, bytes}, state.take());
    });
}

Result<void> DeviceMemory::release_after(const Stream &stream) const noexcept {
    return release_memory_after(*this, stream);
}

Result<void> DeviceMemory::free_async(const Stream &stream) noexcept {
    return named("DeviceBuffer::free_async", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
        if (native() == 0) {
            return {};
        }
        if (Access::state(*this)->owners.load(std::memory_order_acquire) != 1) {
            CUSHIM_TRY_VOID(release_after(stream)); // graph nodes use it
            return close();
        }
        const Result<void> freed = call<entry::cuMemFreeAsync>(native(), stream.native());
        (void)release(); // as in close(): a failed free may have taken effect
        return freed;
    });
}

} // namespace cushim::detail
