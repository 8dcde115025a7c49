#include <cushim/memory_pool.hpp>

#include <cushim/init.hpp>

#include <cstdint>

#include "access_grants.hpp"
#include "allocation.hpp"
#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/export_kinds.hpp"
#include "base/platform/platform.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/on_device.hpp"
#include "context/requirements.hpp"
#include "memory_state.hpp"

namespace cushim {
namespace {

static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(PoolPointer));

struct PoolState final : detail::State {
    detail::Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuMemPoolDestroy, pool, pool);
    }
    CUmemoryPool pool = nullptr;
};

constexpr const char *empty = "the MemoryPool holds no pool";

Result<void> require_pools(Device device) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(detail::require_feature(Feature::memory_pools));
    return detail::require_attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                                     "does not support memory pools; use DeviceBuffer::allocate()");
}

// --- creation

Result<void> check_exports(Device device, const MemoryPoolOptions &options) noexcept {
    const ExportKinds &kinds = options.exportable;
    if (kinds.posix_fd) {
        CUSHIM_TRY_VOID(detail::require_descriptors());
    }
    if (kinds.win32) {
        CUSHIM_TRY_VOID(detail::require_nt_handles());
    }
    CUSHIM_TRY_VOID(
        detail::check_win32_attributes(kinds, options.win32_attributes, "MemoryPoolOptions"));
    if (kinds.fabric) {
        CUSHIM_TRY_VOID(detail::require_feature(Feature::fabric_handles));
    }
    CUSHIM_TRY(const int supported,
               device.attribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES));
    const int missing = detail::native(kinds) & ~supported;
    if (missing == 0) {
        return {};
    }
    return detail::not_supported(
        device.native(),
        (missing & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0
            ? "cannot export memory pools as file descriptors; clear exportable.posix_fd"
        : (missing & CU_MEM_HANDLE_TYPE_WIN32) != 0
            ? "cannot export memory pools as NT handles; clear exportable.win32"
            : "cannot export memory pools to a fabric; clear exportable.fabric");
}

Result<void> set_max_size([[maybe_unused]] CUmemPoolProps &properties, std::size_t size) noexcept {
    if (size == 0) {
        return {};
    }
#if CUDA_VERSION >= 12020
    const Version installed = driver_version();
    if (installed < Version::of(12, 2)) {
        return Error::requires_newer_driver("CUmemPoolProps::maxSize", Version::of(12, 2),
                                            installed);
    }
    properties.maxSize = size;
    return {};
#else
    return Error::requires_newer_headers("CUmemPoolProps::maxSize", Version::of(12, 2));
#endif
}

// --- attributes

template <class Value>
Result<Value> get(const MemoryPool &pool, CUmemPool_attribute attribute) noexcept {
    CUSHIM_TRY_VOID(detail::require(pool, empty));
    Value value{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolGetAttribute, pool.native(), attribute, &value));
    return value;
}

template <class Value>
Result<void> set(const MemoryPool &pool, CUmemPool_attribute attribute, Value value) noexcept {
    CUSHIM_TRY_VOID(detail::require(pool, empty));
    return CUSHIM_DRIVER(cuMemPoolSetAttribute, pool.native(), attribute, &value);
}

Result<bool> get_switch(const MemoryPool &pool, CUmemPool_attribute attribute) noexcept {
    CUSHIM_TRY(const int value, get<int>(pool, attribute));
    return value != 0;
}

struct ReuseSwitch {
    CUmemPool_attribute attribute;
    bool PoolReuse::*member;
};
constexpr ReuseSwitch reuse_switches[] = {
    {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &PoolReuse::follow_event_dependencies},
    {CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &PoolReuse::opportunistic},
    {CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &PoolReuse::internal_dependencies},
};

Result<void> turn(const MemoryPool &pool, const ReuseSwitch &one, const PoolReuse &reuse) noexcept {
    return set<int>(pool, one.attribute, reuse.*one.member ? 1 : 0);
}

Result<std::size_t> get_size(const MemoryPool &pool, CUmemPool_attribute attribute) noexcept {
    CUSHIM_TRY(const cuuint64_t value, get<cuuint64_t>(pool, attribute));
    return static_cast<std::size_t>(value);
}

} // namespace

Result<MemoryPool> MemoryPool::create(Device device, const MemoryPoolOptions &options) noexcept {
    CUSHIM_TRY_VOID(require_pools(device));
    CUSHIM_TRY_VOID(check_exports(device, options));
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = detail::native(options.exportable);
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device.native();
    properties.win32SecurityAttributes = options.win32_attributes;
    CUSHIM_TRY_VOID(set_max_size(properties, options.max_size));
    CUSHIM_TRY(auto state, detail::make_state<PoolState>());
    state->device_ordinal = device.native();
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolCreate, &state->pool, &properties));
    return MemoryPool(state->pool, state.take());
}

Result<MemoryPool> MemoryPool::default_of(Device device) noexcept {
    CUSHIM_TRY_VOID(require_pools(device));
    CUmemoryPool pool = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetDefaultMemPool, &pool, device.native()));
    return MemoryPool(pool, nullptr);
}

Result<MemoryPool> MemoryPool::current_of(Device device) noexcept {
    CUSHIM_TRY_VOID(require_pools(device));
    CUmemoryPool pool = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetMemPool, &pool, device.native()));
    return MemoryPool(pool, nullptr);
}

Result<void> MemoryPool::set_current(Device device) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    return CUSHIM_DRIVER(cuDeviceSetMemPool, device.native(), native());
}

Result<MemoryPool> MemoryPool::adopt(CUmemoryPool pool) noexcept {
    CUSHIM_TRY_VOID(detail::require_handle(pool));
    CUSHIM_TRY(auto state, detail::make_state<PoolState>());
    state->pool = pool;
    return MemoryPool(pool, state.take());
}

MemoryPool MemoryPool::borrow(CUmemoryPool pool) noexcept {
    return MemoryPool(pool, nullptr);
}

Result<std::size_t> MemoryPool::release_threshold() const noexcept {
    return CUSHIM_NAMED(get_size(*this, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
}

Result<void> MemoryPool::set_release_threshold(std::size_t bytes) const noexcept {
    return CUSHIM_NAMED(set<cuuint64_t>(*this, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes));
}

Result<PoolReuse> MemoryPool::reuse() const noexcept {
    PoolReuse reuse;
    for (const ReuseSwitch &one : reuse_switches) {
        CUSHIM_TRY(reuse.*one.member, get_switch(*this, one.attribute));
    }
    return reuse;
}

Result<void> MemoryPool::set_reuse(const PoolReuse &reuse) const noexcept {
    CUSHIM_TRY(const PoolReuse before, this->reuse());
    for (const ReuseSwitch &one : reuse_switches) {
        const Result<void> turned = turn(*this, one, reuse);
        if (!turned) {
            for (const ReuseSwitch &back : reuse_switches) {
                (void)turn(*this, back, before); // the first failure is returned
            }
            return CUSHIM_NAMED(turned.error());
        }
    }
    return {};
}

Result<PoolUsage> MemoryPool::usage() const noexcept {
    PoolUsage usage;
    CUSHIM_TRY(usage.reserved, get_size(*this, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    CUSHIM_TRY(usage.reserved_high, get_size(*this, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
    CUSHIM_TRY(usage.used, get_size(*this, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    CUSHIM_TRY(usage.used_high, get_size(*this, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
    return usage;
}

Result<void> MemoryPool::reset_high_marks() const noexcept {
    CUSHIM_TRY_VOID(set<cuuint64_t>(*this, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0));
    return CUSHIM_NAMED(set<cuuint64_t>(*this, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0));
}

Result<void> MemoryPool::trim_to(std::size_t bytes) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    return CUSHIM_DRIVER(cuMemPoolTrimTo, native(), bytes);
}

Result<void> MemoryPool::set_access(std::span<const AccessGrant> grants) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    if (grants.empty()) {
        return {};
    }
    CUSHIM_TRY(const CUmemAccessDesc *const all, detail::native(grants));
    return CUSHIM_NAMED(
        CUSHIM_SET_ACCESS(grants, {}, cuMemPoolSetAccess, native(), all, grants.size()));
}
Result<void> MemoryPool::set_access(const AccessGrant &grant) const noexcept {
    return set_access(std::span(&grant, 1));
}

Result<AccessFlags> MemoryPool::get_access(Device device) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device.native();
    CUmemAccess_flags flags{};
    const Result<void> got = CUSHIM_DRIVER(cuMemPoolGetAccess, &flags, native(), &location);
    if (!got) {
        return detail::is_missing_device(got.error(), location.id)
                   ? detail::no_such_device(got.error(), location.id)
                   : got.error();
    }
    return static_cast<AccessFlags>(flags);
}

// --- other processes

namespace {

// `option`: the member of ExportKinds.
Result<void> export_handle(const MemoryPool &pool, CUmemAllocationHandleType type,
                           const char *option, void *to) noexcept {
    CUSHIM_TRY_VOID(detail::require(pool, empty));
    return detail::explained(
        CUSHIM_DRIVER(cuMemPoolExportToShareableHandle, to, pool.native(), type, 0),
        CUDA_ERROR_INVALID_VALUE,
        "the pool was not created exportable; set "
        "MemoryPoolOptions::exportable.%s",
        option);
}

Result<MemoryPool> import_handle(void *handle, CUmemAllocationHandleType type) noexcept {
    CUSHIM_TRY(auto state, detail::make_state<PoolState>());
    CUSHIM_TRY_VOID(detail::imported(
        CUSHIM_DRIVER(cuMemPoolImportFromShareableHandle, &state->pool, handle, type, 0), type));
    MemoryPool pool;
    detail::Access::set(pool, state->pool, state.take());
    return pool;
}

} // namespace

Result<UniqueFd> MemoryPool::export_fd() const noexcept {
    CUSHIM_TRY_VOID(detail::require_descriptors());
    int descriptor = -1;
    CUSHIM_TRY_VOID(
        export_handle(*this, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, "posix_fd", &descriptor));
    return UniqueFd(descriptor);
}

Result<void *> MemoryPool::export_win32() const noexcept {
    CUSHIM_TRY_VOID(detail::require_nt_handles());
    void *handle = nullptr;
    CUSHIM_TRY_VOID(export_handle(*this, CU_MEM_HANDLE_TYPE_WIN32, "win32", &handle));
    return handle;
}

Result<FabricHandle> MemoryPool::export_fabric() const noexcept {
    CUSHIM_TRY_VOID(detail::require_feature(Feature::fabric_handles));
    FabricHandle handle;
    CUSHIM_TRY_VOID(export_handle(*this, detail::handle_type_fabric, "fabric", handle.bytes));
    return handle;
}

Result<MemoryPool> MemoryPool::import_fd(int descriptor) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(detail::require_descriptors());
    CUSHIM_TRY_VOID(detail::check_descriptor(descriptor));
    // CUDA takes the number itself in place of a pointer.
    void *const handle = reinterpret_cast<void *>(static_cast<std::uintptr_t>(descriptor));
    return CUSHIM_NAMED(import_handle(handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

Result<MemoryPool> MemoryPool::import_win32(void *handle) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(detail::require_nt_handles());
    CUSHIM_TRY_VOID(detail::require_handle(handle));
    return CUSHIM_NAMED(import_handle(handle, CU_MEM_HANDLE_TYPE_WIN32));
}

Result<MemoryPool> MemoryPool::import_fabric(const FabricHandle &handle) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(detail::require_feature(Feature::fabric_handles));
    FabricHandle copy = handle;
    return CUSHIM_NAMED(import_handle(copy.bytes, detail::handle_type_fabric));
}

Result<PoolPointer> MemoryPool::export_pointer(CUdeviceptr address) noexcept {
    if (address == 0) {
        return CUSHIM_NAMED(Error::invalid_argument("the address is null"));
    }
    CUmemPoolPtrExportData data{};
    CUSHIM_TRY_VOID(detail::explained(CUSHIM_DRIVER(cuMemPoolExportPointer, &data, address),
                                      CUDA_ERROR_INVALID_VALUE,
                                      "address %#llx is not in memory of an exported pool; call "
                                      "export_fd(), export_win32() or export_fabric() first",
                                      static_cast<unsigned long long>(address)));
    PoolPointer pointer;
    std::memcpy(pointer.bytes, &data, sizeof data);
    return pointer;
}

// --- memory

namespace detail {
namespace {

// Also keeps its pool alive.
struct PoolMemoryState final : StreamMemoryState {
    PoolMemoryState(const MemoryPool &of, const Stream &in, const Context &current) noexcept
        : StreamMemoryState(in, current), keep_pool(of) {
        if (device_ordinal < 0) {
            device_ordinal = ordinal_of(of);
        }
    }
    const KeepAlive keep_pool;
};

// The pool itself may be what limits an allocation.
Available available_from(const MemoryPool &pool) noexcept {
    const int device = ordinal_of(pool);
    Available available = device >= 0 ? available_on(Device::from_native(device)) : Available();
    const Result<std::size_t> used = get_size(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    if (used) {
        available.used_from_pool = *used;
    }
    return available;
}

Result<void> require_both(const MemoryPool &pool, const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(require(pool, empty));
    return require(stream, "the Stream holds no stream");
}

} // namespace

Result<PoolMemory> PoolMemory::allocate(const MemoryPool &pool, const Stream &stream,
                                        std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(require_both(pool, stream));
    if (bytes == 0) {
        return PoolMemory({.zero_length = true}, nullptr);
    }
    Context context;
    if (Access::state(stream) == nullptr) [[unlikely]] {
        CUSHIM_TRY(context, context_behind(stream));
    }
    CUSHIM_TRY(auto state, make_state<PoolMemoryState>(pool, stream, context));
    const auto available = [&pool] { return available_from(pool); };
    CUSHIM_TRY_VOID(CUSHIM_ALLOCATE(bytes, available, cuMemAllocFromPoolAsync, &state->address,
                                    bytes, pool.native(), stream.native()));
    return PoolMemory({state->address, bytes}, state.take());
}

Result<PoolMemory> PoolMemory::import_from(const MemoryPool &pool, const Stream &stream,
                                           const PoolPointer &pointer, std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(require_both(pool, stream));
    if (bytes == 0) {
        return PoolMemory({.zero_length = true}, nullptr);
    }
    Context context;
    if (Access::state(stream) == nullptr) [[unlikely]] {
        CUSHIM_TRY(context, context_behind(stream));
    }
    CUSHIM_TRY(auto state, make_state<PoolMemoryState>(pool, stream, context));
    CUmemPoolPtrExportData data;
    std::memcpy(&data, pointer.bytes, sizeof data);
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolImportPointer, &state->address, pool.native(), &data));
    PoolMemory memory({state->address, bytes}, state.take());
    std::size_t size = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuPointerGetAttribute, &size, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                  memory.native()));
    CUSHIM_TRY_VOID(check_range(0, bytes, size));
    return memory;
}

} // namespace detail
} // namespace cushim
