#include <cushim/memory_pool.hpp>

#include <cushim/init.hpp>

#include <cstdint>

#include "call.hpp"
#include "export_kinds.hpp"
#include "in_context.hpp"
#include "needs.hpp"
#include "platform.hpp"
#include "ranges.hpp"

namespace cushim {
namespace {

static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(PoolPointer));

struct PoolState final : detail::State {
    detail::Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuMemPoolDestroy, pool, pool);
    }
    CUmemoryPool pool = nullptr;
};

constexpr const char *empty = "the memory pool is empty";

Result<void> need_pools(Device device) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(detail::need_feature(Feature::memory_pools));
    return detail::need_attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                                  "it has no memory pools");
}

// --- creating

Result<void> check_exports(Device device, const ExportKinds &kinds) noexcept {
    if (kinds.posix_fd) {
        CUSHIM_TRY_VOID(detail::need_descriptors());
    }
    if (kinds.win32) {
        CUSHIM_TRY_VOID(detail::need_nt_handles());
    }
    if (kinds.fabric) {
        CUSHIM_TRY_VOID(detail::need_feature(Feature::fabric_handles));
    }
    const int wanted = detail::native(kinds);
    CUSHIM_TRY(const int supported,
               device.attribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES));
    if ((wanted & ~supported) != 0) {
        return Error::make({.kind = ErrorKind::not_supported_by_device,
                            .detail = "it does not export pools in this way"});
    }
    return {};
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
    CUSHIM_TRY_VOID(detail::need(pool, empty));
    Value value{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolGetAttribute, pool.native(), attribute, &value));
    return value;
}

template <class Value>
Result<void> set(const MemoryPool &pool, CUmemPool_attribute attribute, Value value) noexcept {
    CUSHIM_TRY_VOID(detail::need(pool, empty));
    return CUSHIM_DRIVER(cuMemPoolSetAttribute, pool.native(), attribute, &value);
}

Result<bool> get_switch(const MemoryPool &pool, CUmemPool_attribute attribute) noexcept {
    CUSHIM_TRY(const int value, get<int>(pool, attribute));
    return value != 0;
}

Result<std::size_t> get_size(const MemoryPool &pool, CUmemPool_attribute attribute) noexcept {
    CUSHIM_TRY(const cuuint64_t value, get<cuuint64_t>(pool, attribute));
    return static_cast<std::size_t>(value);
}

} // namespace

Result<MemoryPool> MemoryPool::create(Device device, const MemoryPoolOptions &options) noexcept {
    CUSHIM_TRY_VOID(need_pools(device));
    CUSHIM_TRY_VOID(check_exports(device, options.exportable));
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = detail::native(options.exportable);
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device.native();
    CUSHIM_TRY_VOID(set_max_size(properties, options.max_size));
    CUSHIM_TRY(auto state, detail::make_state<PoolState>());
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolCreate, &state->pool, &properties));
    return MemoryPool(state->pool, state.take());
}

Result<MemoryPool> MemoryPool::default_of(Device device) noexcept {
    CUSHIM_TRY_VOID(need_pools(device));
    CUmemoryPool pool = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetDefaultMemPool, &pool, device.native()));
    return MemoryPool(pool, nullptr);
}

Result<MemoryPool> MemoryPool::current_of(Device device) noexcept {
    CUSHIM_TRY_VOID(need_pools(device));
    CUmemoryPool pool = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetMemPool, &pool, device.native()));
    return MemoryPool(pool, nullptr);
}

Result<void> MemoryPool::set_current(Device device) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    return CUSHIM_DRIVER(cuDeviceSetMemPool, device.native(), native());
}

Result<MemoryPool> MemoryPool::adopt(CUmemoryPool pool) noexcept {
    CUSHIM_TRY(auto state, detail::make_state<PoolState>());
    state->pool = pool;
    return MemoryPool(pool, state.take());
}

MemoryPool MemoryPool::borrow(CUmemoryPool pool) noexcept {
    return MemoryPool(pool, nullptr);
}

Result<std::size_t> MemoryPool::release_threshold() const noexcept {
    return get_size(*this, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
}

Result<void> MemoryPool::set_release_threshold(std::size_t bytes) const noexcept {
    return set<cuuint64_t>(*this, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes);
}

Result<PoolReuse> MemoryPool::reuse() const noexcept {
    PoolReuse reuse;
    CUSHIM_TRY(reuse.follow_event_dependencies,
               get_switch(*this, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES));
    CUSHIM_TRY(reuse.opportunistic, get_switch(*this, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC));
    CUSHIM_TRY(reuse.internal_dependencies,
               get_switch(*this, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES));
    return reuse;
}

Result<void> MemoryPool::set_reuse(const PoolReuse &reuse) const noexcept {
    CUSHIM_TRY_VOID(set<int>(*this, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                             reuse.follow_event_dependencies));
    CUSHIM_TRY_VOID(
        set<int>(*this, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, reuse.opportunistic));
    return set<int>(*this, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
                    reuse.internal_dependencies);
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
    return set<cuuint64_t>(*this, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
}

Result<void> MemoryPool::trim_to(std::size_t bytes) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    return CUSHIM_DRIVER(cuMemPoolTrimTo, native(), bytes);
}

Result<void> MemoryPool::set_access(std::span<const AccessGrant> grants) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    // One call for each: an array would have to be copied together.
    for (const AccessGrant &grant : grants) {
        CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolSetAccess, native(), &grant.native(), 1));
    }
    return {};
}

Result<AccessFlags> MemoryPool::get_access(Device device) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device.native();
    CUmemAccess_flags flags{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolGetAccess, &flags, native(), &location));
    return static_cast<AccessFlags>(flags);
}

// --- other processes

Result<UniqueFd> MemoryPool::export_fd() const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    CUSHIM_TRY_VOID(detail::need_descriptors());
    int descriptor = -1;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolExportToShareableHandle, &descriptor, native(),
                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return UniqueFd(descriptor);
}

Result<MemoryPool> MemoryPool::import_fd(int descriptor) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY_VOID(detail::need_descriptors());
    CUSHIM_TRY_VOID(detail::check_descriptor(descriptor));
    CUSHIM_TRY(auto state, detail::make_state<PoolState>());
    // CUDA takes the number itself where it takes a pointer for other kinds.
    void *const handle = reinterpret_cast<void *>(static_cast<std::uintptr_t>(descriptor));
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolImportFromShareableHandle, &state->pool, handle,
                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return MemoryPool(state->pool, state.take());
}

Result<PoolPointer> MemoryPool::export_pointer(CUdeviceptr address) noexcept {
    if (address == 0) {
        return Error::invalid_argument("there is no memory to export");
    }
    CUmemPoolPtrExportData data{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemPoolExportPointer, &data, address));
    PoolPointer pointer;
    std::memcpy(pointer.bytes, &data, sizeof data);
    return pointer;
}

// --- memory

namespace detail {
namespace {

// Keeps its pool and its stream, in whose order it goes.
struct PoolMemoryState final : State {
    PoolMemoryState(const MemoryPool &of, const Stream &in) noexcept
        : need_pool(of), need_stream(in), stream(in.native()) {}
    bool is_gone() const noexcept override { return need_stream.is_gone(); }
    Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuMemFreeAsync, address, address, stream);
    }
    const Need need_pool;
    const Need need_stream;
    const CUstream stream;
    CUdeviceptr address = 0;
};

Result<void> need_both(const MemoryPool &pool, const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(need(pool, empty));
    return need(stream, "the stream is empty");
}

} // namespace

Result<PoolMemory> PoolMemory::allocate(const MemoryPool &pool, const Stream &stream,
                                        std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(need_both(pool, stream));
    if (bytes == 0) {
        return PoolMemory();
    }
    CUSHIM_TRY(auto state, make_state<PoolMemoryState>(pool, stream));
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemAllocFromPoolAsync, &state->address, bytes, pool.native(),
                                  stream.native()));
    return PoolMemory({state->address, bytes}, state.take());
}

Result<PoolMemory> PoolMemory::import_from(const MemoryPool &pool, const Stream &stream,
                                           const PoolPointer &pointer, std::size_t bytes) noexcept {
    CUSHIM_TRY_VOID(need_both(pool, stream));
    if (bytes == 0) {
        return PoolMemory();
    }
    CUSHIM_TRY(auto state, make_state<PoolMemoryState>(pool, stream));
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
