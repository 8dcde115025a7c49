#include <cushim/managed_buffer.hpp>

#include "allocation.hpp"
#include "base/explained.hpp"
#include "context/on_device.hpp"
#include "memory_state.hpp"

namespace cushim::detail {

Result<ManagedMemory> ManagedMemory::allocate_bytes(const Context &context, std::size_t bytes,
                                                    const ManagedOptions &options) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    if (options.attachment == ManagedAttachment::single) {
        return CUSHIM_NAMED(Error::invalid_argument(
            "ManagedAttachment::single needs a stream; allocate with ManagedAttachment::host, then "
            "call attach()"));
    }
    if (bytes == 0) {
        return ManagedMemory({.zero_length = true}, nullptr);
    }
    CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(CUSHIM_ALLOCATE(bytes, unknown, cuMemAllocManaged, &state->address, bytes,
                                    static_cast<unsigned int>(options.attachment)));
    const CUdeviceptr address = state->address;
    return ManagedMemory({address, bytes}, state.take());
}

Result<ManagedMemory> ManagedMemory::adopt_bytes(const Context &context, CUdeviceptr address,
                                                 std::size_t bytes) noexcept {
    CUSHIM_TRY(State *const state, adopt_memory(context, address, bytes));
    return ManagedMemory({address, bytes, bytes == 0}, state);
}

// A location that CUDA rejects.
static Result<void> explained(Result<void> &&called, ManagedLocation location) noexcept {
    if (location.native() == CU_DEVICE_CPU) {
        return static_cast<Result<void> &&>(called);
    }
    if (!called && is_missing_device(called.error(), location.native())) {
        return no_such_device(called.error(), location.native());
    }
    return explained(static_cast<Result<void> &&>(called), CUDA_ERROR_INVALID_DEVICE,
                     "device %d does not support concurrent managed access "
                     "(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS is 0)",
                     location.native());
}

// The first version of advice and prefetches, which every driver has: the location is a number.

Result<void> ManagedMemory::advise_part(CUmem_advise advice, ManagedLocation location,
                                        const ManagedPart &part) const noexcept {
    if (part.size == 0) {
        return {};
    }
    const auto *const state = static_cast<const InContext *>(Access::state(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return CUSHIM_NAMED(explained(
        CUSHIM_DRIVER(cuMemAdvise_v1, native() + part.offset, part.size, advice, location.native()),
        location));
}

Result<void> ManagedMemory::prefetch_part(const Stream &stream, ManagedLocation location,
                                          const ManagedPart &part) const noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    if (part.size == 0) {
        return {};
    }
    return CUSHIM_NAMED(explained(CUSHIM_DRIVER(cuMemPrefetchAsync_v1, native() + part.offset,
                                                part.size, location.native(), stream.native()),
                                  location));
}

Result<void> ManagedMemory::release_after(const Stream &stream) const noexcept {
    return CUSHIM_NAMED(release_memory_after(*this, stream));
}

Result<void> ManagedMemory::attach(const Stream &stream,
                                   ManagedAttachment attachment) const noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    if (size_bytes() == 0) {
        return {};
    }
    constexpr std::size_t all = 0;
    Result<void> attached = CUSHIM_DRIVER(cuStreamAttachMemAsync, stream.native(), native(), all,
                                          static_cast<unsigned int>(attachment));
    if (attachment != ManagedAttachment::single || !is_default(stream.native())) {
        return attached;
    }
    return CUSHIM_NAMED(explained(static_cast<Result<void> &&>(attached), CUDA_ERROR_INVALID_VALUE,
                                  "ManagedAttachment::single does not support Stream::legacy() and "
                                  "Stream::per_thread(); use a "
                                  "stream of Stream::create()"));
}

} // namespace cushim::detail
