#include "harness/scenario.hpp"
#include "harness/simulator.hpp"

using namespace cushim;

namespace {

Result<Device> device() {
    return Device::get(0);
}

} // namespace

SCENARIO_TEST("memory of a pool is used in order of its stream", "[pool]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Device of, device());
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    std::vector<int> values(1000);
    {
        CUSHIM_TRY(const auto buffer, PoolBuffer<int>::allocate(pool, stream, values.size()));
        CUSHIM_TRY_VOID(fill(stream, buffer.span(), 3));
        CUSHIM_TRY_VOID(copy(stream, std::span(values), buffer.span()));
    }
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(values == std::vector<int>(1000, 3));
    return {};
}

SCENARIO_TEST("a buffer keeps its pool and its stream", "[pool]") {
    CUSHIM_TRY(const Context context, trial.context());
    PoolBuffer<char> buffer;
    {
        CUSHIM_TRY(const Device of, device());
        CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
        CUSHIM_TRY(const Stream stream, Stream::create(context));
        CUSHIM_TRY(buffer, PoolBuffer<char>::allocate(pool, stream, 100));
    }
    CUSHIM_TRY_VOID(context.synchronize());
    return buffer.close();
}

SCENARIO_TEST("a pool tells what it holds", "[pool]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Device of, device());
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
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

SCENARIO_TEST("what a pool is told it does", "[pool]") {
    CUSHIM_TRY(const Device of, device());
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
    CUSHIM_TRY_VOID(pool.set_release_threshold(1 << 24));
    CUSHIM_TRY(const std::size_t threshold, pool.release_threshold());
    CHECK(threshold == 1 << 24);
    CUSHIM_TRY_VOID(pool.set_reuse({.opportunistic = false}));
    CUSHIM_TRY(const PoolReuse reuse, pool.reuse());
    CHECK(reuse.follow_event_dependencies);
    CHECK_FALSE(reuse.opportunistic);
    CHECK(reuse.internal_dependencies);
    CUSHIM_TRY(const AccessFlags own, pool.get_access(of));
    CHECK(own == AccessFlags::read_write);
    return {};
}

SCENARIO_TEST("a pool lets another device in", "[pool]", "devices=2") {
    CUSHIM_TRY(const int count, Device::count());
    if (count < 2) {
        trial.skip("one device alone has no peer");
    }
    CUSHIM_TRY(const Device of, device());
    CUSHIM_TRY(const Device other, Device::get(1));
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(of));
    CUSHIM_TRY_VOID(pool.set_access({other, AccessFlags::read_write}));
    CUSHIM_TRY(const AccessFlags access, pool.get_access(other));
    CHECK(access == AccessFlags::read_write);
    return {};
}

SCENARIO_TEST("the current pool is chosen, and the default one borrowed", "[pool]") {
    CUSHIM_TRY(const Device of, device());
    CUSHIM_TRY(const MemoryPool by_default, MemoryPool::default_of(of));
    CUSHIM_TRY(const MemoryPool own, MemoryPool::create(of));
    CUSHIM_TRY_VOID(own.set_current(of));
    CUSHIM_TRY(const MemoryPool current, MemoryPool::current_of(of));
    CHECK(current.native() == own.native());
    return by_default.set_current(of);
}

TEST_CASE("no memory out of a pool", "[pool]") {
    api_test::restart("");
    const auto context = Context::primary(Device::from_native(0));
    REQUIRE(context.has_value());
    const auto pool = MemoryPool::create(Device::from_native(0));
    REQUIRE(pool.has_value());
    const auto stream = Stream::create(*context);
    REQUIRE(stream.has_value());
    const auto none = PoolBuffer<int>::allocate(*pool, *stream, 0);
    REQUIRE(none.has_value());
    CHECK(none->empty());
    CHECK(none->export_pointer().error().kind() == ErrorKind::invalid_argument);
    CHECK(PoolBuffer<int>::allocate(*pool, *stream, SIZE_MAX / 2).error().kind() ==
          ErrorKind::invalid_argument);
    CHECK(PoolBuffer<int>::allocate(MemoryPool(), *stream, 1).error().kind() ==
          ErrorKind::invalid_argument);
    CHECK(PoolBuffer<int>::allocate(*pool, Stream(), 1).error().kind() ==
          ErrorKind::invalid_argument);
}
