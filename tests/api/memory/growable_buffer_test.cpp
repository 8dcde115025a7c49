// Buffers that grow in place.
#include "harness/mapped_memory.hpp"
#include "harness/reports.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/growable_buffer.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

using namespace api_test;
using namespace cushim;

namespace {

using Words = GrowableBuffer<std::uint32_t>;

// Faster than the 2 MiB of real devices.
constexpr const char *small = "granularity=64KiB";

constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

struct Triple {
    float x, y, z;
};
static_assert(!std::is_copy_constructible_v<Words> && std::is_nothrow_move_constructible_v<Words>);

// The number of elements in one granule.
std::size_t words_of(const MappingDevice &place) {
    return place.unit / sizeof(std::uint32_t);
}

// Checks the access to every part, as reported by the buffer and by CUDA.
Result<void> all_may_write(const Words &buffer, std::size_t part, std::span<const Device> devices) {
    const auto range = AddressRange::borrow(buffer.native(), buffer.size_bytes());
    for (const Device device : devices) {
        CUSHIM_TRY_VOID(check_gives(buffer.get_access(device), AccessFlags::read_write));
        for (std::size_t offset = 0; offset != buffer.size_bytes(); offset += part) {
            CUSHIM_TRY_VOID(check_gives(range.get_access(offset, device), AccessFlags::read_write));
        }
    }
    return {};
}

// Grants access to a missing device, which must fail. An injected failure is returned.
Result<void> grants_nothing(Words &buffer, Device nowhere) {
    const auto granted = buffer.set_access({nowhere, AccessFlags::read_write});
    CHECK_FALSE(granted);
    return !granted && granted.error().status() == CUDA_ERROR_UNKNOWN ? granted : Result<void>();
}

} // namespace

SCENARIO_TEST("a buffer grows in place and keeps its contents", "[growable_buffer]",
              (const MappingDevice &place), small) {
    const std::size_t unit = words_of(place);
    CUSHIM_TRY(auto buffer, Words::create(place.device, 8 * unit));
    CHECK(buffer.empty());
    CHECK(buffer.capacity() == 8 * unit);
    CHECK(buffer.mapped_bytes() == 0);
    const CUdeviceptr address = buffer.native();
    CHECK(address != 0);

    for (std::size_t grown = 0; grown != 4; ++grown) {
        CUSHIM_TRY_VOID(buffer.resize((grown + 1) * unit));
        CHECK(buffer.native() == address);
        CHECK(buffer.size() == (grown + 1) * unit);
        CHECK(buffer.mapped_bytes() == (grown + 1) * place.unit);
        const auto seed = static_cast<std::uint32_t>(grown);
        CUSHIM_TRY_VOID(write(place, address + grown * place.unit, pattern(unit, seed)));
    }
    for (std::size_t part = 0; part != 4; ++part) {
        CUSHIM_TRY_VOID(check_gives(read(place, address + part * place.unit, unit),
                                    pattern(unit, static_cast<std::uint32_t>(part))));
    }
    return buffer.close();
}

SCENARIO_TEST("a buffer maps at least its step when it grows", "[growable_buffer]",
              (const MappingDevice &place), small) {
    GrowableBufferOptions options;
    options.step = 2 * place.unit + 1; // rounded up to three units
    CUSHIM_TRY(auto buffer, Words::create(place.device, 4 * words_of(place), options));
    CUSHIM_TRY_VOID(buffer.resize(1));
    CHECK(buffer.size() == 1);
    CHECK(buffer.size_bytes() == sizeof(std::uint32_t));
    CHECK(buffer.mapped_bytes() == 3 * place.unit);
    CUSHIM_TRY_VOID(buffer.resize(3 * words_of(place)));
    CHECK(buffer.mapped_bytes() == 3 * place.unit);
    CUSHIM_TRY_VOID(buffer.resize(3 * words_of(place) + 1));
    CHECK(buffer.mapped_bytes() == 4 * place.unit); // limited by the range
    CUSHIM_TRY_VOID(write(place, buffer.native(), pattern(4 * words_of(place))));
    return {};
}

SCENARIO_TEST("growing beyond the capacity fails and leaves the buffer unchanged",
              "[growable_buffer]", (const MappingDevice &place), small) {
    CUSHIM_TRY(auto buffer, Words::create(place.device, words_of(place)));
    CUSHIM_TRY_VOID(buffer.resize(100));
    CUSHIM_TRY_VOID(write(place, buffer.native(), pattern(100)));
    const CUdeviceptr address = buffer.native();
    const auto too_far = buffer.resize(words_of(place) + 1);
    check_tells(too_far, {words_of(place) + 1, words_of(place)});
    CHECK(refused(buffer.resize(most)));
    CHECK(buffer.native() == address);
    CHECK(buffer.size() == 100);
    return check_gives(read(place, buffer.native(), 100), pattern(100));
}

SCENARIO_TEST("reserve() beyond the capacity moves a buffer and keeps its contents",
              "[growable_buffer]", (const MappingDevice &place), small) {
    const std::size_t unit = words_of(place);
    CUSHIM_TRY(auto buffer, Words::create(place.device, 2 * unit));
    CUSHIM_TRY_VOID(buffer.resize(unit));
    CUSHIM_TRY_VOID(buffer.resize(2 * unit));
    CUSHIM_TRY_VOID(write(place, buffer.native(), pattern(2 * unit)));
    const CUdeviceptr before = buffer.native();
    CUSHIM_TRY_VOID(buffer.reserve(2 * unit)); // within the capacity
    CHECK(buffer.native() == before);
    CUSHIM_TRY_VOID(buffer.reserve(5 * unit));
    CHECK(buffer.native() != before);
    CHECK(buffer.capacity() == 5 * unit);
    CHECK(buffer.size() == 2 * unit);
    CUSHIM_TRY_VOID(buffer.resize(5 * unit));
    CUSHIM_TRY_VOID(check_gives(read(place, buffer.native(), 2 * unit), pattern(2 * unit)));
    return write(place, buffer.native(), pattern(5 * unit));
}

SCENARIO_TEST("reserve() adds capacity to a buffer without any", "[growable_buffer]",
              (const MappingDevice &place), small) {
    CUSHIM_TRY(auto buffer, Words::create(place.device, 0));
    CHECK(buffer);
    CHECK(buffer.native() == 0);
    CHECK(buffer.capacity() == 0);
    CUSHIM_TRY_VOID(buffer.resize(0));
    CHECK(refused(buffer.resize(1)));
    CUSHIM_TRY_VOID(buffer.reserve(1));
    CUSHIM_TRY_VOID(buffer.resize(1));
    return write(place, buffer.native(), pattern(1));
}

SCENARIO_TEST("shrink_to_fit() unmaps unused memory", "[growable_buffer]",
              (const MappingDevice &place), small) {
    const std::size_t unit = words_of(place);
    CUSHIM_TRY(auto buffer, Words::create(place.device, 4 * unit));
    for (const std::size_t size : {unit, 3 * unit, 4 * unit}) {
        CUSHIM_TRY_VOID(buffer.resize(size));
    }
    CUSHIM_TRY_VOID(write(place, buffer.native(), pattern(unit)));
    CUSHIM_TRY_VOID(buffer.resize(unit + 1));
    CHECK(buffer.mapped_bytes() == 4 * place.unit); // resize() unmaps no memory
    CUSHIM_TRY_VOID(buffer.shrink_to_fit());
    CHECK(buffer.mapped_bytes() == 3 * place.unit); // the second piece is in use
    CUSHIM_TRY_VOID(check_gives(read(place, buffer.native(), unit), pattern(unit)));
    CUSHIM_TRY_VOID(buffer.resize(4 * unit));
    CHECK(buffer.mapped_bytes() == 4 * place.unit);
    CUSHIM_TRY_VOID(buffer.resize(0));
    CUSHIM_TRY_VOID(buffer.shrink_to_fit());
    CHECK(buffer.mapped_bytes() == 0);
    CHECK(buffer.capacity() == 4 * unit);
    return {};
}

SCENARIO_TEST("several devices keep access to a buffer while it grows", "[growable_buffer]",
              (Trial &trial), "devices=3;granularity=192KiB") {
    CUSHIM_TRY_VOID(trial.needs_devices(3));
    CUSHIM_TRY(const MappingDevice place, MappingDevice::make());
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const Device third, Device::get(2));
    const std::size_t unit = words_of(place);
    const AccessGrant grants[] = {place.access(), {second, AccessFlags::read}};
    GrowableBufferOptions options;
    options.access = grants;
    CUSHIM_TRY(auto buffer, Words::create(place.device, 2 * unit, options));
    CUSHIM_TRY_VOID(buffer.resize(unit));
    CUSHIM_TRY_VOID(buffer.set_access({third, AccessFlags::read_write}));
    CUSHIM_TRY_VOID(buffer.set_access({second, AccessFlags::read_write}));
    const Device all[] = {place.device, second, third};
    CUSHIM_TRY_VOID(all_may_write(buffer, place.unit, all)); // existing memory
    CUSHIM_TRY_VOID(buffer.resize(2 * unit));
    CUSHIM_TRY_VOID(all_may_write(buffer, place.unit, all));
    CUSHIM_TRY_VOID(buffer.reserve(4 * unit));
    CUSHIM_TRY_VOID(buffer.resize(3 * unit));
    CUSHIM_TRY_VOID(all_may_write(buffer, place.unit, all));
    return check_gives(buffer.get_access(Device::from_native(9)), AccessFlags::none);
}

SCENARIO_TEST("granting access to a missing device fails with and without memory",
              "[growable_buffer]", (const MappingDevice &place), small) {
    const Device nowhere = Device::from_native(99);
    CUSHIM_TRY(auto buffer, Words::create(place.device, words_of(place)));
    CUSHIM_TRY_VOID(buffer.set_access(place.access()));
    CUSHIM_TRY_VOID(grants_nothing(buffer, nowhere));
    CUSHIM_TRY_VOID(check_gives(buffer.get_access(nowhere), AccessFlags::none));
    CHECK(buffer.mapped_bytes() == 0);
    CUSHIM_TRY_VOID(buffer.set_access(std::span<const AccessGrant>()));
    CUSHIM_TRY_VOID(buffer.resize(1));
    CUSHIM_TRY_VOID(grants_nothing(buffer, nowhere));
    CUSHIM_TRY_VOID(buffer.resize(words_of(place)));
    return write(place, buffer.native(), pattern(words_of(place)));
}

SCENARIO_TEST("a buffer grows and moves while work uses it", "[growable_buffer]",
              (const MappingDevice &place), small) {
    const std::size_t unit = words_of(place);
    CUSHIM_TRY(const Stream stream, Stream::create(place.context, {.non_blocking = true}));
    CUSHIM_TRY(auto target, DeviceBuffer<std::uint32_t>::allocate(place.context, 2 * unit));
    CUSHIM_TRY(auto buffer, Words::create(place.device, 2 * unit));
    CUSHIM_TRY_VOID(buffer.resize(unit));
    CUSHIM_TRY_VOID(buffer.release_after(stream));
    CUSHIM_TRY_VOID(fill(stream, buffer.span(), 1u));
    CUSHIM_TRY_VOID(buffer.resize(2 * unit));
    CUSHIM_TRY(const auto second, buffer.span().subspan(unit, unit));
    CUSHIM_TRY_VOID(fill(stream, second, 2u));
    CUSHIM_TRY_VOID(copy(stream, target.span(), buffer.span()));
    CUSHIM_TRY_VOID(buffer.reserve(3 * unit)); // waits, and frees the old address
    CUSHIM_TRY_VOID(fill(stream, buffer.span(), 3u));
    CUSHIM_TRY_VOID(buffer.close());
    std::vector<std::uint32_t> expected(unit, 1u);
    expected.resize(2 * unit, 2u);
    return check_gives(read(place, target.native(), 2 * unit), expected);
}

SCENARIO_TEST("shrink_to_fit() waits for work in memory added after release_after()",
              "[growable_buffer]", (const MappingDevice &place), small) {
    const std::size_t unit = words_of(place);
    CUSHIM_TRY(const Stream stream, Stream::create(place.context, {.non_blocking = true}));
    CUSHIM_TRY(auto buffer, Words::create(place.device, 2 * unit));
    CUSHIM_TRY_VOID(buffer.release_after(stream));
    CUSHIM_TRY_VOID(buffer.resize(unit));
    CUSHIM_TRY_VOID(buffer.resize(2 * unit));
    CUSHIM_TRY_VOID(fill(stream, buffer.span(), 1u));
    CUSHIM_TRY_VOID(buffer.resize(unit));
    return buffer.shrink_to_fit();
}

SCENARIO_TEST("the element size need not divide the granularity", "[growable_buffer]",
              (const MappingDevice &place), small) {
    const std::size_t count = place.unit / sizeof(Triple) + 1;
    CUSHIM_TRY(auto buffer, GrowableBuffer<Triple>::create(place.device, count));
    CHECK(buffer.capacity() >= count);
    CUSHIM_TRY_VOID(buffer.resize(count));
    CHECK(buffer.size() == count);
    CHECK(buffer.size_bytes() == count * sizeof(Triple));
    CHECK(buffer.mapped_bytes() == 2 * place.unit);
    const std::vector<Triple> values(count, Triple{1, 2, 3});
    return copy(place.context, buffer.span(), std::span(values));
}

TEST_CASE("a buffer is unchanged if memory is short", "[growable_buffer]") {
    need_simulator("would use all memory of the device");
    const MappingDevice place = mapping_device_after_restart("memory=64MiB");
    const std::size_t unit = words_of(place);
    auto buffer = ok(Words::create(place.device, 64 * unit));
    REQUIRE(buffer.resize(unit));
    REQUIRE(write(place, buffer.native(), pattern(unit)));
    CHECK(refused(buffer.resize(64 * unit), ErrorKind::out_of_memory));
    CHECK(buffer.size() == unit);
    CHECK(buffer.mapped_bytes() == place.unit);
    CHECK(*read(place, buffer.native(), unit) == pattern(unit));
    REQUIRE(buffer.resize(2 * unit));
    CHECK(buffer.close());
}

TEST_CASE("moving a buffer leaves the source empty", "[growable_buffer]") {
    const MappingDevice place = mapping_device_after_restart();
    auto made = ok(Words::create(place.device, words_of(place)));
    REQUIRE(made.resize(10));
    Words buffer = std::move(made);
    CHECK(buffer.size() == 10);
    const Words &empty = made;
    CHECK_FALSE(empty);
    CHECK(empty.native() == 0);
    CHECK(empty.size() == 0);
    CHECK(empty.capacity() == 0);
    CHECK(empty.mapped_bytes() == 0);
    CHECK(refused(made.resize(0)));
    CHECK(refused(made.reserve(1)));
    CHECK(refused(made.shrink_to_fit()));
    CHECK(refused(made.set_access(place.access())));
    CHECK(refused(made.get_access(place.device)));
    CHECK(refused(made.release_after(*Stream::create(place.context))));
    CHECK(made.close());
}

TEST_CASE("closing a buffer reports every failure", "[growable_buffer]") {
    need_faults();
    const MappingDevice place = mapping_device_after_restart(small);
    auto buffer = ok(Words::create(place.device, 3 * words_of(place)));
    for (std::size_t parts = 1; parts <= 3; ++parts) {
        REQUIRE(buffer.resize(parts * words_of(place)));
    }
    const Reports reports;
    always_fail_after("cuMemUnmap");
    const auto closed = buffer.close();
    simulator()->clear_faults();
    REQUIRE_FALSE(closed);
    CHECK(std::string(closed.error().entry_point()) == "cuMemUnmap");
    CHECK(reports.names() == std::vector<std::string>(2, "cuMemUnmap"));
}

TEST_CASE("invalid sizes and streams are rejected by growable buffers", "[growable_buffer]") {
    const MappingDevice place = mapping_device_after_restart();
    CHECK(refused(Words::create(place.device, most / 4)));
    auto buffer = ok(Words::create(place.device, 1));
    CHECK(refused(buffer.reserve(most)));
    CHECK(refused(buffer.release_after(Stream::legacy())));
    CHECK(buffer.close());
}
