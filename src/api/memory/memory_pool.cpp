#include <cushim/memory_pool.hpp>

#include <cushim/pool_buffer.hpp>

#include <cstring>

#include "access_grants.hpp"
#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/on_device.hpp"
#include "context/requirements.hpp"
#include "exporting.hpp"
#include "memory_state.hpp"

namespace cushim {

using namespace detail;

namespace {

static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(PoolPointer));

struct PoolState final : State {
    Destroyed destroy() noexcept override { return {call<entry::cuMemPoolDestroy>(pool), pool}; }
    CUmemoryPool pool = nullptr;
};

constexpr const char *empty = "the MemoryPool is empty";

Result<void> require_pools(Device device) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(require_feature(Feature::memory_pools));
    return require_attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                             "does not support memory pools; use DeviceBuffer::allocate()");
}

// --- creation

Result<void> check_exports(Device device, const MemoryPoolOptions &options) noexcept {
    CUSHIM_TRY_VOID(
        detail::check_exports(options.exportable, options.win32_attributes, "MemoryPoolOptions"));
    CUSHIM_TRY(const int supported,
               device.attribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES));
    const int missing = detail::native(options.exportable) & ~supported;
    if (missing == 0) {
        return {};
    }
    return not_supported(
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
    CUSHIM_TRY_VOID(require(pool, empty));
    Value value{};
    CUSHIM_TRY_VOID(call<entry::cuMemPoolGetAttribute>(pool.native(), attribute, &value));
    return value;
}

template <class Value>
Result<void> set(const MemoryPool &pool, CUmemPool_attribute attribute, Value value) noexcept {
    CUSHIM_TRY_VOID(require(pool, empty));
    return call<entry::cuMemPoolSetAttribute>(pool.native(), attribute, &value);
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
    return named("MemoryPool::create", [&]() -> Result<MemoryPool> {
        CUSHIM_TRY_VOID(require_pools(device));
        CUSHIM_TRY_VOID(check_exports(device, options));
        CUmemPoolProps properties{};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.handleTypes = detail::native(options.exportable);
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = device.native();
        properties.win32SecurityAttributes = options.win32_attributes;
        CUSHIM_TRY_VOID(set_max_size(properties, options.max_size));
        CUSHIM_TRY(auto state, make_state<PoolState>());
        state->device_ordinal = device.native();
        CUSHIM_TRY_VOID(call<entry::cuMemPoolCreate>(&state->pool, &properties));
        return MemoryPool(state->pool, state.take());
    });
}

Result<MemoryPool> MemoryPool::default_of(Device device) noexcept {
    return named("MemoryPool::default_of", [&]() -> Result<MemoryPool> {
        CUSHIM_TRY_VOID(require_pools(device));
        CUmemoryPool pool = nullptr;
        CUSHIM_TRY_VOID(call<entry::cuDeviceGetDefaultMemPool>(&pool, device.native()));
        return MemoryPool(pool, nullptr);
    });
}

Result<MemoryPool> MemoryPool::current_of(Device device) noexcept {
    return named("MemoryPool::current_of", [&]() -> Result<MemoryPool> {
        CUSHIM_TRY_VOID(require_pools(device));
        CUmemoryPool pool = nullptr;
        CUSHIM_TRY_VOID(call<entry::cuDeviceGetMemPool>(&pool, device.native()));
        return MemoryPool(pool, nullptr);
    });
}

Result<void> MemoryPool::set_current(Device device) const noexcept {
    return named("MemoryPool::set_current", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        return call<entry::cuDeviceSetMemPool>(device.native(), native());
    });
}

Result<MemoryPool> MemoryPool::adopt(CUmemoryPool pool) noexcept {
    return named("MemoryPool::adopt", [&]() -> Result<MemoryPool> {
        CUSHIM_TRY_VOID(require_handle(pool));
        CUSHIM_TRY(auto state, make_state<PoolState>());
        state->pool = pool;
        return MemoryPool(pool, state.take());
    });
}

Result<std::size_t> MemoryPool::release_threshold() const noexcept {
    return named("MemoryPool::release_threshold",
                 get_size(*this, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
}

Result<void> MemoryPool::set_release_threshold(std::size_t bytes) const noexcept {
    return named("MemoryPool::set_release_threshold",
                 set<cuuint64_t>(*this, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes));
}

Result<PoolReuse> MemoryPool::reuse() const noexcept {
    return named("MemoryPool::reuse", [&]() -> Result<PoolReuse> {
        PoolReuse reuse;
        for (const ReuseSwitch &one : reuse_switches) {
            CUSHIM_TRY(reuse.*one.member, get_switch(*this, one.attribute));
        }
        return reuse;
    });
}

Result<void> MemoryPool::set_reuse(const PoolReuse &reuse) const noexcept {
    return named("MemoryPool::set_reuse", [&]() -> Result<void> {
        CUSHIM_TRY(const PoolReuse before, this->reuse());
        for (const ReuseSwitch &one : reuse_switches) {
            const Result<void> turned = turn(*this, one, reuse);
            if (!turned) {
                for (const ReuseSwitch &back : reuse_switches) {
                    (void)turn(*this, back, before); // the first failure is returned
                }
                return turned.error();
            }
        }
        return {};
    });
}

Result<PoolUsage> MemoryPool::usage() const noexcept {
    return named("MemoryPool::usage", [&]() -> Result<PoolUsage> {
        PoolUsage usage;
        CUSHIM_TRY(usage.reserved, get_size(*this, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
        CUSHIM_TRY(usage.reserved_high, get_size(*this, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
        CUSHIM_TRY(usage.used, get_size(*this, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
        CUSHIM_TRY(usage.used_high, get_size(*this, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
        return usage;
    });
}

Result<void> MemoryPool::reset_high_marks() const noexcept {
    return named("MemoryPool::reset_high_marks", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(set<cuuint64_t>(*this, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0));
        return set<cuuint64_t>(*this, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
    });
}

Result<void> MemoryPool::trim_to(std::size_t bytes) const noexcept {
    return named("MemoryPool::trim_to", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        return call<entry::cuMemPoolTrimTo>(native(), bytes);
    });
}

Result<void> MemoryPool::set_access(std::span<const AccessGrant> grants) const noexcept {
    return named("MemoryPool::set_access", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        if (grants.empty()) {
            return {};
        }
        CUSHIM_TRY(const CUmemAccessDesc *const all, detail::native(grants));
        return access_call<entry::cuMemPoolSetAccess>(grants, {}, native(), all, grants.size());
    });
}

Result<AccessFlags> MemoryPool::get_access(Device device) const noexcept {
    return named("MemoryPool::get_access", [&]() -> Result<AccessFlags> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUmemLocation location{};
        location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        location.id = device.native();
        CUmemAccess_flags flags{};
        const Result<void> got = call<entry::cuMemPoolGetAccess>(&flags, native(), &location);
        if (!got) {
            return is_missing_device(got.error(), location.id)
                       ? no_such_device(got.error(), location.id)
                       : got.error();
        }
        return static_cast<AccessFlags>(flags);
    });
}

// --- other processes

namespace {

constexpr Exported exported{empty, "pool", "MemoryPoolOptions"};
using Export = entry::cuMemPoolExportToShareableHandle;

Result<MemoryPool> import_handle(void *handle, CUmemAllocationHandleType type) noexcept {
    CUSHIM_TRY(auto state, make_state<PoolState>());
    CUSHIM_TRY_VOID(imported(
        call<entry::cuMemPoolImportFromShareableHandle>(&state->pool, handle, type, 0), type));
    MemoryPool pool;
    Access::set(pool, state->pool, state.take());
    return pool;
}

} // namespace

Result<UniqueFd> MemoryPool::export_fd() const noexcept {
    return named("MemoryPool::export_fd", detail::export_fd<Export>(*this, exported));
}

Result<void *> MemoryPool::export_win32() const noexcept {
    return named("MemoryPool::export_win32", detail::export_win32<Export>(*this, exported));
}

Result<FabricHandle> MemoryPool::export_fabric() const noexcept {
    return named("MemoryPool::export_fabric", detail::export_fabric<Export>(*this, exported));
}

Result<MemoryPool> MemoryPool::import_fd(int descriptor) noexcept {
    return named("MemoryPool::import_fd", [&]() -> Result<MemoryPool> {
        CUSHIM_TRY(void *const importable, importable(descriptor));
        return import_handle(importable, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    });
}

Result<MemoryPool> MemoryPool::import_win32(void *handle) noexcept {
    return named("MemoryPool::import_win32", [&]() -> Result<MemoryPool> {
        CUSHIM_TRY(void *const importable, importable(handle));
        return import_handle(importable, CU_MEM_HANDLE_TYPE_WIN32);
    });
}

Result<MemoryPool> MemoryPool::import_fabric(const FabricHandle &handle) noexcept {
    return named("MemoryPool::import_fabric", [&]() -> Result<MemoryPool> {
        FabricHandle copy = handle;
        CUSHIM_TRY(void *const importable, importable(copy));
        return import_handle(importable, handle_type_fabric);
    });
}

Result<PoolPointer> MemoryPool::export_pointer(CUdeviceptr address) noexcept {
    return named("MemoryPool::export_pointer", [&]() -> Result<PoolPointer> {
        if (address == 0) {
            return Error::invalid_argument("the address is null");
        }
        CUmemPoolPtrExportData data{};
        CUSHIM_TRY_VOID(explained(call<entry::cuMemPoolExportPointer>(&data, address),
                                  CUDA_ERROR_INVALID_VALUE,
                                  "address %#llx is not in memory of an exported pool; call "
                                  "export_fd(), export_win32() or export_fabric() first",
                                  static_cast<unsigned long long>(address)));
        PoolPointer pointer;
        std::memcpy(pointer.bytes, &data, sizeof data);
        return pointer;
    });
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
    return require(stream, "the Stream is empty");
}

} // namespace

Result<PoolMemory> PoolMemory::allocate(const MemoryPool &pool, const Stream &stream,
                                        std::size_t count, std::size_t element_size) noexcept {
    return named("PoolBuffer::allocate", [&]() -> Result<PoolMemory> {
        CUSHIM_TRY_VOID(require_both(pool, stream));
        CUSHIM_TRY(const std::size_t bytes, bytes_of(count, element_size));
        if (bytes == 0) {
            return PoolMemory({.zero_length = true}, nullptr);
        }
        CUSHIM_TRY(auto state, make_stream_state<PoolMemoryState>(stream, pool));
        const auto available = [&pool] { return available_from(pool); };
        CUSHIM_TRY_VOID(allocating_call<entry::cuMemAllocFromPoolAsync>(
            bytes, available, &state->address, bytes, pool.native(), stream.native()));
        return PoolMemory({state->address, bytes}, state.take());
    });
}

Result<PoolMemory> PoolMemory::import_from(const MemoryPool &pool, const Stream &stream,
                                           const PoolPointer &pointer, std::size_t count,
                                           std::size_t element_size) noexcept {
    return named("PoolBuffer::import_from", [&]() -> Result<PoolMemory> {
        CUSHIM_TRY_VOID(require_both(pool, stream));
        CUSHIM_TRY(const std::size_t bytes, bytes_of(count, element_size));
        if (bytes == 0) {
            return PoolMemory({.zero_length = true}, nullptr);
        }
        CUSHIM_TRY(auto state, make_stream_state<PoolMemoryState>(stream, pool));
        CUmemPoolPtrExportData data;
        std::memcpy(&data, pointer.bytes, sizeof data);
        CUSHIM_TRY_VOID(call<entry::cuMemPoolImportPointer>(&state->address, pool.native(), &data));
        PoolMemory memory({state->address, bytes}, state.take());
        std::size_t size = 0;
        CUSHIM_TRY_VOID(call<entry::cuPointerGetAttribute>(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                                           memory.native()));
        CUSHIM_TRY_VOID(check_range(0, bytes, size));
        return memory;
    });
}

} // namespace detail
} // namespace cushim
