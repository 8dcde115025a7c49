#include <cushim/managed_buffer.hpp>

#include "base/explained.hpp"
#include "context/on_device.hpp"
#include "memory_state.hpp"

namespace cushim::detail {

Result<ManagedMemory> ManagedMemory::allocate(const Context &context, std::size_t count,
                                              std::size_t element_size,
                                              const ManagedBufferOptions &options) noexcept {
    return named("ManagedBuffer::allocate", [&]() -> Result<ManagedMemory> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(const std::size_t bytes, bytes_of(count, element_size));
        if (options.attachment == ManagedAttachment::single) {
            return Error::invalid_argument("ManagedAttachment::single needs a stream; allocate "
                                           "with ManagedAttachment::host, then call attach()");
        }
        if (bytes == 0) {
            return ManagedMemory({.zero_length = true}, nullptr);
        }
        CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUSHIM_TRY_VOID(allocating_call<entry::cuMemAllocManaged>(
            bytes, unknown, &state->address, bytes, static_cast<unsigned int>(options.attachment)));
        return ManagedMemory({state->address, bytes}, state.take());
    });
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

Result<void> ManagedMemory::advise(CUmem_advise advice, ManagedLocation location,
                                   const ManagedPart &part) const noexcept {
    return named("ManagedBuffer::advise", [&]() -> Result<void> {
        if (part.size == 0) {
            return {};
        }
        const auto *const state = static_cast<const InContext *>(Access::state(*this));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        return explained(call<entry::cuMemAdvise_v1>(native() + part.offset, part.size, advice,
                                                     location.native()),
                         location);
    });
}

Result<void> ManagedMemory::prefetch(const Stream &stream, ManagedLocation location,
                                     const ManagedPart &part) const noexcept {
    return named("ManagedBuffer::prefetch", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
        if (part.size == 0) {
            return {};
        }
        return explained(call<entry::cuMemPrefetchAsync_v1>(native() + part.offset, part.size,
                                                            location.native(), stream.native()),
                         location);
    });
}

Result<void> ManagedMemory::attach(const Stream &stream,
                                   ManagedAttachment attachment) const noexcept {
    return named("ManagedBuffer::attach", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
        if (size_bytes() == 0) {
            return {};
        }
        constexpr std::size_t all = 0;
        Result<void> attached = call<entry::cuStreamAttachMemAsync>(
            stream.native(), native(), all, static_cast<unsigned int>(attachment));
        if (attachment != ManagedAttachment::single || !is_default(stream.native())) {
            return attached;
        }
        return explained(static_cast<Result<void> &&>(attached), CUDA_ERROR_INVALID_VALUE,
                         "ManagedAttachment::single does not support Stream::legacy() and "
                         "Stream::per_thread(); use a stream of Stream::create()");
    });
}

} // namespace cushim::detail
