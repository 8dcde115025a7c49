#include <cushim/ipc.hpp>

#include <cstdint>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/event_state.hpp"
#include "context/wrong_context.hpp"
#include "memory/memory_state.hpp"

namespace cushim {
namespace {

static_assert(sizeof(CUipcMemHandle) == IpcMemHandle::size && alignof(CUipcMemHandle) == 1);
static_assert(sizeof(CUipcEventHandle) == IpcEventHandle::size);
static_assert(sizeof(IpcMemHandle) == 64 && sizeof(IpcEventHandle) == 64);

// Properties of an allocation that determine whether it can be shared.
struct Traits {
    unsigned int capable = 1;
    unsigned int managed = 0;
    CUmemoryPool pool = nullptr;
    CUmemorytype type = CU_MEMORYTYPE_DEVICE;
};

Result<Traits> traits_of(CUdeviceptr address) noexcept {
    Traits traits;
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    void *answers[] = {&traits.capable, &traits.managed, &traits.pool, &traits.type};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuPointerGetAttributes, 4, asked, answers, address));
    return traits;
}

Result<void> check_shareable(const Traits &traits) noexcept {
    if (traits.capable != 0) {
        return {};
    }
    if (static_cast<int>(traits.type) == 0) {
        return Error::invalid_argument("IpcExport::of: the address is not that of CUDA memory");
    }
    if (traits.managed != 0) {
        return Error::invalid_argument(
            "IpcExport::of: managed memory cannot be shared with another "
            "process; copy it into a DeviceBuffer::allocate() buffer");
    }
    if (traits.pool != nullptr) {
        return Error::invalid_argument(
            "IpcExport::of: pool memory has no IPC handle; create the pool exportable, and use "
            "MemoryPool::export_fd and export_pointer");
    }
    if (traits.type != CU_MEMORYTYPE_DEVICE) {
        return Error::invalid_argument(
            "IpcExport::of: host memory has no IPC handle; use shared memory "
            "of the system and HostRegistration");
    }
    return Error::invalid_argument(
        "IpcExport::of: mapped physical memory has no IPC handle; create it exportable, and use "
        "PhysicalMemory::export_fd");
}

struct Allocation {
    CUdeviceptr base = 0;
    std::size_t size = 0;
};

Result<Allocation> allocation_of(CUdeviceptr address) noexcept {
    Allocation allocation;
    CUSHIM_TRY_VOID(
        CUSHIM_DRIVER(cuMemGetAddressRange, &allocation.base, &allocation.size, address));
    return allocation;
}

// Attributes can be read in every context; the range only in a context whose device has access.
Result<Allocation> allocation_in_context(CUdeviceptr address) noexcept {
    Allocation allocation;
    const auto call = CUSHIM_FAILED_CALL(
        cuMemGetAddressRange,
        driver().cuMemGetAddressRange(&allocation.base, &allocation.size, address));
    if (call.status == CUDA_ERROR_NOT_FOUND) {
        return detail::wrong_context(call, "the memory belongs to another device than the context; "
                                           "export it in a context of its own device");
    }
    CUSHIM_TRY_VOID(detail::checked(call.status, call.entry_point, call.introduced));
    return allocation;
}

struct OpenedState final : detail::MemoryState {
    using MemoryState::MemoryState;
    // Unlike most calls of this kind, closing requires the context.
    detail::Destroyed destroy() noexcept override {
        return detail::destroy_after(release, [this] {
            return detail::destroy_only_in(
                context, [this] { return CUSHIM_DESTROY(cuIpcCloseMemHandle, base, base); });
        });
    }
    CUdeviceptr base = 0;
};

void write_number(std::byte *to, std::size_t number) noexcept {
    const std::uint64_t wide = number;
    std::memcpy(to, &wide, sizeof wide);
}

std::uint64_t read_number(const std::byte *from) noexcept {
    std::uint64_t wide = 0;
    std::memcpy(&wide, from, sizeof wide);
    return wide;
}

} // namespace

// --- memory

Result<IpcExport> IpcExport::of(const Context &context, CUdeviceptr address,
                                std::size_t size) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    if (size == 0) {
        return Error::invalid_argument("IpcExport::of: the size is 0");
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY(const Traits traits, traits_of(address));
    CUSHIM_TRY_VOID(check_shareable(traits));
    CUSHIM_TRY(const Allocation allocation, allocation_in_context(address));
    IpcExport exported;
    exported.offset_ = address - allocation.base;
    exported.size_ = size;
    CUSHIM_TRY_VOID(detail::check_range(exported.offset_, size, allocation.size));
    CUipcMemHandle handle;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuIpcGetMemHandle, &handle, allocation.base));
    std::memcpy(exported.handle_.stored, &handle, sizeof handle);
    return exported;
}

Result<IpcExport> IpcExport::from_bytes(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() != byte_count) {
        return detail::invalid_argument("IpcExport::from_bytes: size is %zu, expected %zu",
                                        bytes.size(), byte_count);
    }
    return make_export(IpcMemHandle::from_bytes(bytes.first<IpcMemHandle::size>()),
                       read_number(bytes.data() + 72), read_number(bytes.data() + 64));
}

Result<IpcExport> IpcExport::from_handle(const IpcMemHandle &handle, std::size_t size,
                                         std::size_t offset) noexcept {
    return make_export(handle, size, offset);
}

Result<IpcExport> IpcExport::make_export(const IpcMemHandle &handle, unsigned long long size,
                                         unsigned long long offset) noexcept {
    if (size == 0 || offset > SIZE_MAX || size > SIZE_MAX - offset) {
        return detail::invalid_argument("IPC memory: size %llu at offset %llu is invalid", size,
                                        offset);
    }
    IpcExport exported;
    exported.handle_ = handle;
    exported.offset_ = static_cast<std::size_t>(offset);
    exported.size_ = static_cast<std::size_t>(size);
    return exported;
}

IpcExport::Bytes IpcExport::bytes() const noexcept {
    Bytes bytes{};
    std::memcpy(bytes.stored, handle_.stored, sizeof handle_.stored);
    write_number(bytes.stored + 64, offset_);
    write_number(bytes.stored + 72, size_);
    return bytes;
}

Result<IpcMemory> IpcMemory::open(const Context &context, const IpcExport &exported) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    if (exported.size() == 0) {
        return Error::invalid_argument("the exported memory is empty");
    }
    CUSHIM_TRY(auto state, detail::make_state<OpenedState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUipcMemHandle handle;
    std::memcpy(&handle, exported.handle().stored, sizeof handle);
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuIpcOpenMemHandle, &state->base, handle,
                                  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    // The destructor of `memory` closes it in any case.
    IpcMemory memory({state->base + exported.offset(), exported.size()}, state.take());
    CUSHIM_TRY(const Allocation allocation, allocation_of(state->base));
    CUSHIM_TRY_VOID(detail::check_range(exported.offset(), exported.size(), allocation.size));
    return memory;
}

Result<void> IpcMemory::release_after(const Stream &stream) const noexcept {
    return detail::release_memory_after(*this, stream);
}

// --- events

Result<IpcEventHandle> export_event(const Context &context, const Event &event) noexcept {
    CUSHIM_TRY_VOID(detail::require(event, "the event is empty"));
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUipcEventHandle native;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuIpcGetEventHandle, &native, event.native()));
    IpcEventHandle handle;
    std::memcpy(handle.stored, &native, sizeof native);
    return handle;
}

Result<Event> open_event(const Context &context, const IpcEventHandle &handle) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    CUSHIM_TRY(auto state, detail::make_state<detail::EventState>(context));
    state->is_interprocess = true;
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUipcEventHandle native;
    std::memcpy(&native, handle.stored, sizeof native);
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuIpcOpenEventHandle, &state->event, native));
    Event opened;
    detail::Access::set(opened, state->event, state.take());
    return opened;
}

} // namespace cushim
