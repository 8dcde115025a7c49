#include "harness/memory.hpp"
#include "harness/spied_call.hpp"

#include <cushim/feature.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pool_buffer.hpp>

#include <cstdint>
#include <cstring>

using namespace api_test;
using namespace cushim;

namespace {

const Device of = Device::from_native(0);

} // namespace

SCENARIO_TEST("pool memory is used and freed in stream order", "[pool]", (const Stream &stream)) {
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
    std::vector<int> values(1000);
    {
        CUSHIM_TRY(auto buffer, PoolBuffer<int>::allocate(pool, stream, values.size()));
        CUSHIM_TRY_VOID(fill(stream, buffer.span(), 3));
        CUSHIM_TRY_VOID(copy(stream, std::span(values), buffer.span()));
    }
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(values == std::vector<int>(1000, 3));
    return {};
}

SCENARIO_TEST("a pool buffer keeps its pool and its stream alive", "[pool]",
              (const Context &context)) {
    PoolBuffer<char> buffer;
    {
        CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
        CUSHIM_TRY(const Stream stream, Stream::create(context));
        CUSHIM_TRY(buffer, PoolBuffer<char>::allocate(pool, stream, 100));
    }
    CUSHIM_TRY_VOID(context.synchronize());
    return buffer.close();
}

SCENARIO_TEST("a pool reports its usage", "[pool]", (const Stream &stream)) {
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
    constexpr std::size_t size = 1 << 20;
    CUSHIM_TRY(auto buffer, PoolBuffer<char>::allocate(pool, stream, size));
    CUSHIM_TRY(const PoolUsage busy, pool.usage());
    CHECK(busy.used >= size);
    CHECK(busy.reserved >= busy.used);
    CUSHIM_TRY_VOID(buffer.close());
    CUSHIM_TRY_VOID(stream.synchronize());
    CUSHIM_TRY_VOID(pool.trim_to(0));
    CUSHIM_TRY(const PoolUsage idle, pool.usage());
    CHECK(idle.used == 0);
    CHECK(idle.reserved == 0);
    CHECK(idle.used_high >= size);
    CUSHIM_TRY_VOID(pool.reset_high_marks());
    CUSHIM_TRY(const PoolUsage reset, pool.usage());
    CHECK(reset.used_high == 0);
    return {};
}

SCENARIO_TEST("a pool reports its threshold, reuse and access as set", "[pool]", ()) {
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
    CUSHIM_TRY_VOID(pool.set_release_threshold(1 << 24));
    CUSHIM_TRY_VOID(check_gives(pool.release_threshold(), 1 << 24));
    CUSHIM_TRY_VOID(pool.set_reuse({.opportunistic = false}));
    CUSHIM_TRY(const PoolReuse reuse, pool.reuse());
    CHECK(reuse.follow_event_dependencies);
    CHECK_FALSE(reuse.opportunistic);
    CHECK(reuse.internal_dependencies);
    return check_gives(pool.get_access(of), AccessFlags::read_write);
}

SCENARIO_TEST("a pool grants access to another device", "[pool]", (Trial &trial), "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device other, Device::get(1));
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
    CUSHIM_TRY_VOID(pool.set_access({other, AccessFlags::read_write}));
    return check_gives(pool.get_access(other), AccessFlags::read_write);
}

SCENARIO_TEST("set_current() selects the current pool of a device", "[pool]", ()) {
    CUSHIM_TRY(const MemoryPool by_default, MemoryPool::default_of(of));
    CUSHIM_TRY(const MemoryPool own, MemoryPool::create(of));
    CUSHIM_TRY_VOID(own.set_current(of));
    CUSHIM_TRY(const MemoryPool current, MemoryPool::current_of(of));
    CHECK(current.native() == own.native());
    return by_default.set_current(of);
}

TEST_CASE("a pool returns an empty buffer for size 0 and rejects invalid allocations", "[pool]") {
    const Context context = context_after_restart("");
    const auto pool = ok(MemoryPool::create(of));
    const auto stream = ok(Stream::create(context));
    auto none = ok(PoolBuffer<int>::allocate(pool, stream, 0));
    CHECK(none.empty());
    CHECK(refused(PoolBuffer<int>::allocate(pool, stream, SIZE_MAX / 2)));
    CHECK(refused(PoolBuffer<int>::allocate(MemoryPool(), stream, 1)));
    CHECK(refused(PoolBuffer<int>::allocate(pool, Stream(), 1)));
}

TEST_CASE("access to a pool is granted for all devices or for none of them", "[pool]") {
    restart("devices=2");
    if (ok(Device::count()) < 2) {
        SKIP("needs 2 devices");
    }
    const Device other = ok(Device::get(1));
    const auto pool = ok(MemoryPool::create(of));
    const AccessGrant grants[] = {{other, AccessFlags::read_write},
                                  {Device::from_native(1000), AccessFlags::read_write}};
    CHECK_FALSE(pool.set_access(grants).has_value());
    CHECK(ok(pool.get_access(other)) == AccessFlags::none);
    CHECK(pool.set_access(std::span<const AccessGrant>()).has_value());
    CHECK(pool.set_access(std::span(grants).first(1)).has_value());
    CHECK(ok(pool.get_access(other)) == AccessFlags::read_write);
}

TEST_CASE("a failed set_reuse() leaves the reuse of a pool unchanged", "[pool]") {
    need_faults();
    for (const std::uint64_t failing : {1u, 2u, 3u}) {
        INFO("call " << failing);
        restart("");
        const auto pool = ok(MemoryPool::create(of));
        cushim_sim_fault fault{};
        fault.entry = "cuMemPoolSetAttribute";
        fault.kind = CUSHIM_SIM_FAULT_INSTEAD;
        fault.code = CUDA_ERROR_UNKNOWN;
        fault.nth = failing;
        REQUIRE(simulator()->plan_fault(&fault) != 0);
        CHECK(error_of(pool.set_reuse({false, false, false})).status() == CUDA_ERROR_UNKNOWN);
        const auto now = ok(pool.reuse());
        CHECK(now.follow_event_dependencies);
        CHECK(now.opportunistic);
        CHECK(now.internal_dependencies);
    }
}

namespace {

constexpr int fabric_type = 8;
CUmemoryPool exported_pool = nullptr;

} // namespace

TEST_CASE("a pool is exported to a fabric and imported from it", "[pool]") {
    restart("");
    if (!supports(driver_version(), Feature::fabric_handles)) {
        SKIP("this driver has no fabric handles");
    }
    const auto pool = ok(MemoryPool::create(of));
    exported_pool = pool.native();
    const ScopedOverride<entry::cuMemPoolExportToShareableHandle> exports(
        [](void *to, CUmemoryPool of, CUmemAllocationHandleType type, unsigned long long flags) {
            if (of != exported_pool || static_cast<int>(type) != fabric_type || flags != 0) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            std::memset(to, 7, sizeof(FabricHandle));
            return CUDA_SUCCESS;
        });
    const ScopedOverride<entry::cuMemPoolImportFromShareableHandle> imports(
        [](CUmemoryPool *to, void *handle, CUmemAllocationHandleType type,
           unsigned long long flags) {
            FabricHandle sent;
            std::memset(sent.bytes, 7, sizeof sent.bytes);
            if (std::memcmp(handle, sent.bytes, sizeof sent.bytes) != 0 ||
                static_cast<int>(type) != fabric_type || flags != 0) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            *to = exported_pool;
            return CUDA_SUCCESS;
        });
    const auto handle = ok(pool.export_fabric());
    auto imported = ok(MemoryPool::import_fabric(handle));
    CHECK(imported.release() == pool.native()); // the same pool, owned by `pool`
}

namespace {

CUdeviceptr their_memory = 0; // stands in for an export of another process

} // namespace

TEST_CASE("importing more bytes than were exported fails", "[pool]") {
    const Context context = context_after_restart("");
    const auto pool = ok(MemoryPool::create(of));
    const auto stream = ok(Stream::create(context));
    their_memory = ok(PoolBuffer<int>::allocate(pool, stream, 100)).release();
    const ScopedOverride<entry::cuMemPoolImportPointer> imports(
        [](CUdeviceptr *to, CUmemoryPool, CUmemPoolPtrExportData *) {
            *to = their_memory;
            return CUDA_SUCCESS;
        });
    constexpr std::size_t many = std::size_t(1) << 28;
    auto more = PoolBuffer<int>::import_from(pool, stream, PoolPointer(), many);
    check_refused(more, std::to_string(many * sizeof(int)));
    CHECK(stream.synchronize().has_value());
    CHECK(ok(pool.usage()).used == 0); // it was freed
}

#if CUDA_VERSION >= 12020
TEST_CASE("the driver receives the maximum size of a pool", "[pool]") {
    restart("");
    if (driver_version() < Version::of(12, 2)) {
        SKIP("needs CUDA 12.2");
    }
    static std::size_t passed;
    const SpiedCall<entry::cuMemPoolCreate> spied(
        [](CUmemoryPool *, const CUmemPoolProps *properties) { passed = properties->maxSize; });
    MemoryPoolOptions options;
    options.max_size = std::size_t(64) << 20;
    CHECK(MemoryPool::create(of, options).has_value());
    CHECK(passed == options.max_size);
    CHECK(MemoryPool::create(of).has_value());
    CHECK(passed == 0);
}
#endif

TEST_CASE("a pool for NT handles requires Windows and attributes", "[pool]") {
    restart("");
    MemoryPoolOptions options;
    options.exportable.win32 = true;
#ifdef _WIN32
    CHECK(refused(MemoryPool::create(of, options)));
#else
    options.win32_attributes = &options;
    CHECK(refused(MemoryPool::create(of, options), ErrorKind::unsupported_platform));
#endif
}
