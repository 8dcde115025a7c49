#include <cushim/ipc.hpp>

#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/event_state.hpp"
#include "context/on_device.hpp"
#include "context/wrong_context.hpp"
#include "memory/memory_state.hpp"

namespace cushim {

using namespace detail;

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
    CUSHIM_TRY_VOID(call<entry::cuPointerGetAttributes>(4, asked, answers, address));
    return traits;
}

Result<void> check_shareable(const Traits &traits, CUdeviceptr address) noexcept {
    if (traits.capable != 0) {
        return {};
    }
    if (static_cast<int>(traits.type) == 0) {
        return invalid_argument("address 0x%llx is not in device memory",
                                static_cast<unsigned long long>(address));
    }
    if (traits.managed != 0) {
        return Error::invalid_argument("managed memory has no IPC handle; copy it into memory of "
                                       "DeviceBuffer::allocate()");
    }
    if (traits.pool != nullptr) {
        return Error::invalid_argument("pool memory has no IPC handle; create the pool exportable, "
                                       "and use MemoryPool::export_fd() and export_pointer()");
    }
    if (traits.type != CU_MEMORYTYPE_DEVICE) {
        return Error::invalid_argument("host memory has no IPC handle; use shared memory of the "
                                       "operating system and HostRegistration");
    }
    return Error::invalid_argument("mapped physical memory has no IPC handle; create it "
                                   "exportable, and use PhysicalMemory::export_fd()");
}

struct Allocation {
    CUdeviceptr base = 0;
    std::size_t size = 0;
};

Result<Allocation> allocation_of(CUdeviceptr address) noexcept {
    Allocation allocation;
    CUSHIM_TRY_VOID(call<entry::cuMemGetAddressRange>(&allocation.base, &allocation.size, address));
    return allocation;
}

// Attributes can be read in every context; the range only in a context whose device has access.
Result<Allocation> allocation_in_context(CUdeviceptr address) noexcept {
    Allocation allocation;
    const Result<void> asked =
        call<entry::cuMemGetAddressRange>(&allocation.base, &allocation.size, address);
    if (!asked && asked.error().status() == CUDA_ERROR_NOT_FOUND) {
        int own = -1;
        CUdevice current = -1;
        (void)status_of<entry::cuPointerGetAttribute>(&own, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                      address);
        (void)status_of<entry::cuCtxGetDevice>(&current);
        return wrong_context(asked.error(),
                             "the context is of device %d; export the memory in a context "
                             "of its own device, %d",
                             current, own);
    }
    CUSHIM_TRY_VOID(asked);
    return allocation;
}

Result<void> check_part(std::size_t offset, std::size_t size, std::size_t allocation) noexcept {
    if (offset > allocation || size > allocation - offset) {
        return invalid_argument("range [%zu, %zu) exceeds the allocation of %zu byte%s", offset,
                                end_of(offset, size), allocation, plural(allocation));
    }
    return {};
}

// What a status of a call means.
struct Meaning {
    CUresult status;
    const char *text;
};

constexpr Meaning same_process = {CUDA_ERROR_INVALID_CONTEXT,
                                  "the handle was exported by this process; use the original "
                                  "object"};

// For a call in the current context.
Result<void> explained(Result<void> &&called,
                       std::initializer_list<Meaning> meanings = {}) noexcept {
    if (!called && called.error().status() == CUDA_ERROR_NOT_SUPPORTED) {
        return detail::explained(
            called.error(),
            "%s does not support CUDA IPC; export and import PhysicalMemory instead",
            current_device_text().c_str());
    }
    for (const Meaning &meaning : meanings) {
        called = detail::explained(static_cast<Result<void> &&>(called), meaning.status, "%s",
                                   meaning.text);
    }
    return static_cast<Result<void> &&>(called);
}

struct OpenedState final : MemoryState {
    using MemoryState::MemoryState;
    // Unlike most calls of this kind, closing requires the context.
    Destroyed destroy() noexcept override {
        return destroy_after(release_stream, [this] {
            return destroy_only_in(context, [this]() -> Destroyed {
                return {call<entry::cuIpcCloseMemHandle>(base), base};
            });
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
    return named("IpcExport::of", [&]() -> Result<IpcExport> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        if (size == 0) {
            return Error::invalid_argument("the size is 0");
        }
        CUSHIM_TRY(const ContextScope scope, context.enter());
        CUSHIM_TRY(const Traits traits, traits_of(address));
        CUSHIM_TRY_VOID(check_shareable(traits, address));
        CUSHIM_TRY(const Allocation allocation, allocation_in_context(address));
        IpcExport exported;
        exported.offset_ = address - allocation.base;
        exported.size_ = size;
        CUSHIM_TRY_VOID(check_part(exported.offset_, size, allocation.size));
        CUipcMemHandle handle;
        CUSHIM_TRY_VOID(explained(call<entry::cuIpcGetMemHandle>(&handle, allocation.base)));
        std::memcpy(exported.handle_.stored, &handle, sizeof handle);
        return exported;
    });
}

Result<IpcExport> IpcExport::from_bytes(std::span<const std::byte> bytes) noexcept {
    return named("IpcExport::from_bytes", [&]() -> Result<IpcExport> {
        if (bytes.size() != byte_count) {
            return invalid_argument("the number of bytes is %zu, expected %zu "
                                    "(IpcExport::byte_count)",
                                    bytes.size(), byte_count);
        }
        return make_export(IpcMemHandle::from_bytes(bytes.first<IpcMemHandle::size>()),
                           read_number(bytes.data() + 72), read_number(bytes.data() + 64));
    });
}

Result<IpcExport> IpcExport::from_handle(const IpcMemHandle &handle, std::size_t size,
                                         std::size_t offset) noexcept {
    return named("IpcExport::from_handle", make_export(handle, size, offset));
}

Result<IpcExport> IpcExport::make_export(const IpcMemHandle &handle, unsigned long long size,
                                         unsigned long long offset) noexcept {
    if (size == 0) {
        return Error::invalid_argument("the size of the exported memory is 0");
    }
    if (offset > SIZE_MAX || size > SIZE_MAX - offset) {
        return invalid_argument("%llu byte%s at offset %llu exceed the address space", size,
                                plural(size), offset);
    }
    IpcExport exported;
    exported.handle_ = handle;
    exported.offset_ = static_cast<std::size_t>(offset);
    exported.size_ = static_cast<std::size_t>(size);
    return exported;
}

IpcExport::Bytes::operator std::span<const std::byte>() const noexcept {
    return stored;
}

IpcExport::Bytes IpcExport::bytes() const noexcept {
    Bytes bytes{};
    std::memcpy(bytes.stored, handle_.stored, sizeof handle_.stored);
    write_number(bytes.stored + 64, offset_);
    write_number(bytes.stored + 72, size_);
    return bytes;
}

Result<IpcMemory> IpcMemory::open(const Context &context, const IpcExport &exported) noexcept {
    return named("IpcMemory::open", [&]() -> Result<IpcMemory> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        if (exported.size() == 0) {
            return Error::invalid_argument("the IpcExport is empty; create it with "
                                           "IpcExport::of(), from_handle() or from_bytes()");
        }
        CUSHIM_TRY(auto state, make_state<OpenedState>(context));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUipcMemHandle handle;
        std::memcpy(&handle, exported.handle().stored, sizeof handle);
        CUSHIM_TRY_VOID(explained(
            call<entry::cuIpcOpenMemHandle>(&state->base, handle,
                                            CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            {same_process,
             {CUDA_ERROR_INVALID_VALUE,
              "the handle is invalid, or the exporter has freed the memory or has exited"},
             {CUDA_ERROR_INVALID_HANDLE,
              "memory of the same exporter is open in another context of the device; open it in "
              "that context"},
             {CUDA_ERROR_INVALID_DEVICE, "this process cannot see the exporter's device; check "
                                         "CUDA_VISIBLE_DEVICES"},
             {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
              "the device of the context has no peer access to the exporter's device; open the "
              "memory in a context of that device"}}));
        // The destructor of `memory` closes it in any case.
        IpcMemory memory({state->base + exported.offset(), exported.size()}, state.take());
        CUSHIM_TRY(const Allocation allocation, allocation_of(state->base));
        CUSHIM_TRY_VOID(check_part(exported.offset(), exported.size(), allocation.size));
        return memory;
    });
}

Result<void> IpcMemory::release_after(const Stream &stream) const noexcept {
    return named("IpcMemory::release_after", release_memory_after(*this, stream));
}

// --- events

Result<IpcEventHandle> export_event(const Context &context, const Event &event) noexcept {
    return named("export_event", [&]() -> Result<IpcEventHandle> {
        CUSHIM_TRY_VOID(require(event, "the Event is empty"));
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(const ContextScope scope, context.enter());
        CUipcEventHandle native;
        CUSHIM_TRY_VOID(
            explained(call<entry::cuIpcGetEventHandle>(&native, event.native()),
                      {{CUDA_ERROR_INVALID_HANDLE,
                        "the event cannot be exported; create it with Event::interprocess()"}}));
        IpcEventHandle handle;
        std::memcpy(handle.stored, &native, sizeof native);
        return handle;
    });
}

Result<Event> open_event(const Context &context, const IpcEventHandle &handle) noexcept {
    return named("open_event", [&]() -> Result<Event> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(auto state, make_state<EventState>(context));
        state->is_interprocess = true;
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUipcEventHandle native;
        std::memcpy(&native, handle.stored, sizeof native);
        CUSHIM_TRY_VOID(explained(
            call<entry::cuIpcOpenEventHandle>(&state->event, native),
            {same_process,
             {CUDA_ERROR_MAP_FAILED, "the handle is invalid, or the event was destroyed before it "
                                     "was opened"}}));
        Event opened;
        Access::set(opened, state->event, state.take());
        return opened;
    });
}

} // namespace cushim
