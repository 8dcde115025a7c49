#include <cushim/pinned_buffer.hpp>

#include <cstdint>

#include "base/explained.hpp"
#include "context/requirements.hpp"
#include "memory_state.hpp"

namespace cushim::detail {
namespace {

struct AllocatedState final : FreedInContext {
    using FreedInContext::FreedInContext;
    Destroyed free() noexcept override { return {call<entry::cuMemFreeHost>(memory), memory}; }
    void *memory = nullptr;
};

struct RegisteredState final : FreedInContext {
    using FreedInContext::FreedInContext;
    Destroyed free() noexcept override {
        return {call<entry::cuMemHostUnregister>(memory), memory};
    }
    void *memory = nullptr;
};

// In the current context. On WSL and WDDM it may differ from the host address.
Result<CUdeviceptr> device_address_of(void *memory) noexcept {
    CUdeviceptr address = 0;
    CUSHIM_TRY_VOID(call<entry::cuMemHostGetDevicePointer>(&address, memory, 0));
    return address;
}

unsigned int flags_of(const PinnedBufferOptions &options, DeviceMapped mapped) noexcept {
    unsigned int flags = 0;
    flags |= options.portable ? unsigned{CU_MEMHOSTALLOC_PORTABLE} : 0;
    flags |= options.write_combined ? unsigned{CU_MEMHOSTALLOC_WRITECOMBINED} : 0;
    flags |= mapped == DeviceMapped::yes ? unsigned{CU_MEMHOSTALLOC_DEVICEMAP} : 0;
    return flags;
}

Result<void> check_range_of_host(const void *memory, std::size_t bytes) noexcept {
    if (memory == nullptr) {
        return null_address(bytes);
    }
    if (sum_overflows(reinterpret_cast<std::uintptr_t>(memory), bytes)) {
        return invalid_argument("address %p plus size %zu exceeds the address space", memory,
                                bytes);
    }
    return {};
}

Result<void> check_read_only(const Context &context, unsigned int flags) noexcept {
    if ((flags & CU_MEMHOSTREGISTER_READ_ONLY) == 0) {
        return {};
    }
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const int supported,
               device.attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED));
    if (supported == 0) {
        return not_supported(device.native(),
                             "does not support read-only registration; clear read_only "
                             "(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED is 0)");
    }
    return {};
}

Error not_registered(const Error &error, const void *memory, std::size_t bytes) noexcept {
    if (error.status() != CUDA_ERROR_OUT_OF_MEMORY && error.status() != CUDA_ERROR_INVALID_VALUE) {
        return error; // CUDA says why
    }
    return explained(error, "%zu byte%s at %p could not be registered", bytes, plural(bytes),
                     memory);
}

} // namespace

Result<void> HostMemory::map() noexcept {
    CUSHIM_TRY(const CUdeviceptr address, device_address_of(native()));
    Access::set(*this, {native(), address, size_bytes()}, Access::state(*this));
    return {};
}

Result<HostMemory> HostMemory::allocate(const Context &context, std::size_t count,
                                        std::size_t element_size, DeviceMapped mapped,
                                        const PinnedBufferOptions &options) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context is empty"));
    CUSHIM_TRY(const std::size_t bytes, bytes_of(count, element_size));
    if (bytes == 0) {
        return HostMemory({.zero_length = true}, nullptr);
    }
    CUSHIM_TRY(auto state, make_state<AllocatedState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(allocating_call<entry::cuMemHostAlloc>(bytes, unknown, &state->memory, bytes,
                                                           flags_of(options, mapped)));
    void *const memory = state->memory;
    HostMemory allocated({memory, 0, bytes}, state.take());
    if (mapped == DeviceMapped::yes) {
        CUSHIM_TRY_VOID(allocated.map());
    }
    return allocated;
}

Result<HostMemory> HostMemory::adopt(const Context &context, void *memory, std::size_t count,
                                     std::size_t element_size, DeviceMapped mapped) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context is empty"));
    CUSHIM_TRY(const std::size_t bytes, bytes_of(count, element_size));
    if (memory == nullptr && bytes == 0) {
        return HostMemory({.zero_length = true}, nullptr);
    }
    CUSHIM_TRY_VOID(check_range_of_host(memory, bytes));
    CUSHIM_TRY(auto state, make_state<AllocatedState>(context));
    CUdeviceptr address = 0;
    if (mapped == DeviceMapped::yes) {
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUSHIM_TRY(address, device_address_of(memory));
    }
    state->memory = memory;
    return HostMemory({memory, address, bytes}, state.take());
}

Result<HostMemory> HostMemory::register_range(const Context &context, void *memory,
                                              std::size_t bytes, DeviceMapped mapped,
                                              unsigned int flags) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context is empty"));
    if (bytes == 0) {
        return HostMemory({.zero_length = true}, nullptr);
    }
    CUSHIM_TRY_VOID(check_range_of_host(memory, bytes));
    CUSHIM_TRY_VOID(check_read_only(context, flags));
    CUSHIM_TRY(auto state, make_state<RegisteredState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    const unsigned int map_flag = mapped == DeviceMapped::yes ? CU_MEMHOSTREGISTER_DEVICEMAP : 0;
    const Result<void> called = call<entry::cuMemHostRegister>(memory, bytes, flags | map_flag);
    if (!called) {
        return not_registered(called.error(), memory, bytes);
    }
    state->memory = memory;
    HostMemory registered({memory, 0, bytes}, state.take());
    if (mapped == DeviceMapped::yes) {
        CUSHIM_TRY_VOID(registered.map());
    }
    return registered;
}

Result<unsigned int> HostMemory::flags() const noexcept {
    CUSHIM_TRY_VOID(require(*this, "the buffer has no memory"));
    const auto *const state = static_cast<const InContext *>(Access::state(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    unsigned int flags = 0;
    CUSHIM_TRY_VOID(call<entry::cuMemHostGetFlags>(&flags, native()));
    return flags;
}

Result<void> HostMemory::release_after(const Stream &stream) const noexcept {
    return release_memory_after(*this, stream);
}

} // namespace cushim::detail
