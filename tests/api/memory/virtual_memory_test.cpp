// Address ranges, mappings and access.
#include "harness/mapped_memory.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"
#include "harness/spied_call.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>

using namespace api_test;
using namespace cushim;

namespace {

constexpr CUresult invalid = CUDA_ERROR_INVALID_VALUE;
constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

void check_clean() {
    // Only the primary context may remain.
    const auto left = leaks();
    CHECK(std::all_of(left.begin(), left.end(), [](const std::string &line) {
        return line.find("primary context") != std::string::npos;
    }));
    CHECK(misuses().empty());
}

} // namespace

SCENARIO_TEST("mapped memory is written and read", "[virtual_memory]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const auto granularity, Granularity::of(place.device));
    CUSHIM_TRY(const std::size_t size, granularity.round_up(std::size_t(1) << 20));
    CUSHIM_TRY(auto range, AddressRange::reserve(place.device, size));
    CUSHIM_TRY(auto memory, PhysicalMemory::create(place.device, size));
    CUSHIM_TRY(auto mapped, MappedRange::map(range, 0, memory));
    CUSHIM_TRY_VOID(mapped.set_access(place.access()));
    const std::size_t count = size / sizeof(std::uint32_t);
    CUSHIM_TRY_VOID(write(place, mapped.native(), pattern(count)));
    CUSHIM_TRY_VOID(check_gives(read(place, mapped.native(), count), pattern(count)));
    CUSHIM_TRY_VOID(mapped.close());
    CUSHIM_TRY_VOID(memory.close());
    return range.close();
}

SCENARIO_TEST("a range has the requested alignment, and a hint may be ignored",
              "[virtual_memory][V3]", (const MappingDevice &place)) {
    const std::size_t alignment = std::size_t(64) << 20;
    CUSHIM_TRY(auto range,
               AddressRange::reserve(place.device, std::size_t(4) << 30, {.alignment = alignment}));
    CHECK(range.native() % alignment == 0);
    CHECK(range.size() == std::size_t(4) << 30);
    // CUDA may ignore this hint.
    const CUdeviceptr behind = range.native() + range.size();
    CUSHIM_TRY(const auto next, AddressRange::reserve(place.device, place.unit, {.hint = behind}));
    CHECK(next.native() != 0);
    CUSHIM_TRY(const auto taken,
               AddressRange::reserve(place.device, place.unit, {.hint = range.native()}));
    CHECK(taken.native() != range.native());
    return {};
}

TEST_CASE("CUDA receives the hint and the alignment of a range", "[virtual_memory][V3]") {
    const MappingDevice place = mapping_device_after_restart();
    static CUdeviceptr hint;
    static std::size_t alignment;
    const SpiedCall<entry::cuMemAddressReserve> spied([](CUdeviceptr *, std::size_t,
                                                         std::size_t aligned, CUdeviceptr address,
                                                         unsigned long long) {
        hint = address;
        alignment = aligned;
    });
    const CUdeviceptr wanted = CUdeviceptr(1) << 40;
    CHECK(AddressRange::reserve(place.device, place.unit,
                                {.alignment = 2 * place.unit, .hint = wanted}));
    CHECK(hint == wanted);
    CHECK(alignment == 2 * place.unit);
    CHECK(AddressRange::reserve(place.device, place.unit));
    CHECK(hint == 0);
    CHECK(alignment == 0);
}

TEST_CASE("invalid sizes and alignments of ranges are rejected with the value",
          "[virtual_memory][V3]") {
    const MappingDevice place = mapping_device_after_restart();
    CHECK(refused(AddressRange::reserve(place.device, 0)));
    check_tells(AddressRange::reserve(place.device, place.unit + 1), {place.unit + 1});
    for (const std::size_t alignment : {std::size_t(3), place.unit * 3, most}) {
        check_tells(AddressRange::reserve(place.device, place.unit, {.alignment = alignment}),
                    {alignment});
    }
    CHECK(refused(AddressRange::reserve(place.device, place.unit, {.hint = 1})));
}

SCENARIO_TEST("a range is freed with its last owner", "[virtual_memory][V4]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(auto range, AddressRange::reserve(place.device, 8 * place.unit));
    AddressRange second = range.share();
    CHECK(second.native() == range.native());
    CHECK(second.size() == range.size());
    range.reset();
    CHECK_FALSE(range);
    CHECK(range.size() == 0);
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, place.unit));
    CUSHIM_TRY(const auto mapped, MappedRange::map(second, 0, memory, place.access()));
    CHECK(mapped.native() == second.native());
    return {};
}

SCENARIO_TEST("ranges are adopted and borrowed", "[virtual_memory][V4]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(auto made, AddressRange::reserve(place.device, place.unit));
    const std::size_t size = made.size();
    CUSHIM_TRY(auto adopted, AddressRange::adopt(made.native(), size));
    (void)made.release();
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, place.unit));
    const auto lent = AddressRange::borrow(adopted.native(), size);
    CUSHIM_TRY(auto mapped, MappedRange::map(lent, 0, memory));
    CUSHIM_TRY_VOID(check_gives(lent.get_access(0, place.device), AccessFlags::none));
    CUSHIM_TRY_VOID(mapped.close());
    return adopted.close();
}

SCENARIO_TEST("set_access() sets read-write access, read access or no access",
              "[virtual_memory][V7]", (const MappingDevice &place)) {
    CUSHIM_TRY(const auto mapped, map_new(place, place.unit));
    CUSHIM_TRY_VOID(write(place, mapped.native(), pattern(10)));
    CUSHIM_TRY_VOID(check_gives(mapped.get_access(place.device), AccessFlags::read_write));

    CUSHIM_TRY_VOID(mapped.set_access(place.access(AccessFlags::read)));
    CUSHIM_TRY_VOID(check_gives(mapped.get_access(place.device), AccessFlags::read));
    CUSHIM_TRY_VOID(must_be_refused(write(place, mapped.native(), pattern(10, 1)), invalid));
    CUSHIM_TRY_VOID(check_gives(read(place, mapped.native(), 10), pattern(10)));

    CUSHIM_TRY_VOID(mapped.set_access(place.access(AccessFlags::none)));
    CUSHIM_TRY_VOID(check_gives(mapped.get_access(place.device), AccessFlags::none));
    CUSHIM_TRY_VOID(must_be_refused(read(place, mapped.native(), 10), invalid));
    return {};
}

TEST_CASE("a mapping beyond the range is rejected with the sizes", "[virtual_memory][V8]") {
    const MappingDevice place = mapping_device_after_restart();
    const std::size_t unit = place.unit;
    const auto range = ok(AddressRange::reserve(place.device, 4 * unit));
    const auto memory = ok(PhysicalMemory::create(place.device, 2 * unit));
    for (const std::size_t offset : {3 * unit, 4 * unit, 5 * unit, most - unit + 1, most}) {
        check_tells(MappedRange::map(range, offset, memory, place.access()),
                    {offset, offset <= most - 2 * unit ? offset + 2 * unit : most, 4 * unit});
    }
    check_tells(MappedRange::map(range, unit / 2, memory), {unit / 2, unit});
}

TEST_CASE("calls reject empty ranges, memory and mappings", "[virtual_memory][V5]") {
    const MappingDevice place = mapping_device_after_restart();
    const auto range = ok(AddressRange::reserve(place.device, place.unit));
    const auto memory = ok(PhysicalMemory::create(place.device, place.unit));
    CHECK(refused(MappedRange::map(AddressRange(), 0, memory)));
    CHECK(refused(MappedRange::map(range, 0, PhysicalMemory())));
    const MappedRange nothing;
    CHECK(refused(nothing.set_access(place.access())));
    CHECK(refused(AddressRange().set_access(0, 0, place.access())));
    CHECK(refused(range.set_access(place.unit, 1, place.access())));
    CHECK(refused(range.get_access(place.unit, place.device)));
}

SCENARIO_TEST("a mapping that overlaps another fails and leaves it unchanged",
              "[virtual_memory][V8]", (const MappingDevice &place)) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, 4 * place.unit));
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, 2 * place.unit));
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 0, memory, place.access()));
    CUSHIM_TRY_VOID(write(place, mapped.native(), pattern(10)));
    CUSHIM_TRY_VOID(must_be_refused(MappedRange::map(range, place.unit, memory), invalid));
    CUSHIM_TRY(const auto alias, MappedRange::map(range, 2 * place.unit, memory, place.access()));
    return check_gives(read(place, alias.native(), 10), pattern(10));
}

SCENARIO_TEST("a new mapping has no access until access is set", "[virtual_memory][V9]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, place.unit));
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, place.unit));
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 0, memory));
    CUSHIM_TRY_VOID(check_gives(mapped.get_access(place.device), AccessFlags::none));
    CUSHIM_TRY_VOID(must_be_refused(write(place, mapped.native(), pattern(10)), invalid));
    CUSHIM_TRY_VOID(mapped.set_access(place.access()));
    return write(place, mapped.native(), pattern(10));
}

SCENARIO_TEST("a mapping whose access cannot be granted is unmapped", "[virtual_memory][V9]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, place.unit));
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, place.unit));
    const AccessGrant nobody(Device::from_native(99), AccessFlags::read);
    CUSHIM_TRY_VOID(must_be_refused(MappedRange::map(range, 0, memory, nobody), invalid));
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 0, memory, place.access()));
    return write(place, mapped.native(), pattern(10));
}

SCENARIO_TEST("two devices get access in one call", "[virtual_memory][V10]", (Trial &trial),
              "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const MappingDevice place, MappingDevice::make());
    CUSHIM_TRY(const Device other, Device::get(1));
    CUSHIM_TRY(const bool peers, other.can_access(place.device));
    if (!peers) {
        trial.skip("the devices are not peers");
    }
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, place.unit));
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, place.unit));
    const AccessGrant grants[] = {place.access(), {other, AccessFlags::read}};
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 0, memory, grants));
    CUSHIM_TRY_VOID(check_gives(mapped.get_access(place.device), AccessFlags::read_write));
    CUSHIM_TRY_VOID(check_gives(mapped.get_access(other), AccessFlags::read));
    CUSHIM_TRY_VOID(mapped.set_access({other, AccessFlags::none}));
    CUSHIM_TRY_VOID(check_gives(mapped.get_access(place.device), AccessFlags::read_write));
    return check_gives(mapped.get_access(other), AccessFlags::none);
}

SCENARIO_TEST("set_access() of a range applies to all mappings in its part",
              "[virtual_memory][V10]", (const MappingDevice &place)) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, 4 * place.unit));
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, place.unit));
    CUSHIM_TRY(const auto first, MappedRange::map(range, 0, memory));
    CUSHIM_TRY(const auto second, MappedRange::map(range, place.unit, memory));
    CUSHIM_TRY_VOID(range.set_access(place.unit, place.unit, place.access()));
    CUSHIM_TRY_VOID(check_gives(first.get_access(place.device), AccessFlags::none));
    CUSHIM_TRY_VOID(check_gives(second.get_access(place.device), AccessFlags::read_write));
    CUSHIM_TRY_VOID(range.set_access(0, 2 * place.unit, place.access()));
    for (const std::size_t offset : {std::size_t(0), place.unit, 2 * place.unit - 1}) {
        CUSHIM_TRY_VOID(
            check_gives(range.get_access(offset, place.device), AccessFlags::read_write));
    }
    // Part of it is unmapped.
    CUSHIM_TRY_VOID(must_be_refused(range.set_access(0, 3 * place.unit, place.access()), invalid));
    CUSHIM_TRY_VOID(range.set_access(0, 0, place.access(AccessFlags::none)));
    CUSHIM_TRY_VOID(range.set_access(0, place.unit, std::span<const AccessGrant>()));
    return check_gives(first.get_access(place.device), AccessFlags::read_write);
}

TEST_CASE("several grants are one CUDA call", "[virtual_memory][V10]") {
    need_simulator("needs the simulator, which records the calls");
    const MappingDevice place = mapping_device_after_restart("devices=4");
    const auto range = ok(AddressRange::reserve(place.device, 2 * place.unit));
    const auto memory = ok(PhysicalMemory::create(place.device, place.unit));
    std::vector<AccessGrant> grants;
    for (int i = 0; i != 4; ++i) {
        grants.emplace_back(*Device::get(i), AccessFlags::read_write);
    }
    const auto first = MappedRange::map(range, 0, memory);
    const auto second = ok(MappedRange::map(range, place.unit, memory));
    CHECK(calls_in([&] { CHECK(range.set_access(0, range.size(), grants)); }) ==
          std::vector<std::string>{"cuMemSetAccess"});
}

SCENARIO_TEST("a mapping reports its address, offset and size", "[virtual_memory][V11]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, 8 * place.unit));
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, 2 * place.unit));
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 3 * place.unit, memory));
    CHECK(mapped.native() == range.native() + 3 * place.unit);
    CHECK(mapped.offset() == 3 * place.unit);
    CHECK(mapped.size() == 2 * place.unit);
    struct Odd {
        char bytes[12];
    };
    CHECK(mapped.span<Odd>().size() == 2 * place.unit / 12);
    CHECK(mapped.span<Odd>().native() == mapped.native());
    return {};
}

TEST_CASE("memory is unmapped first, in any order of destruction", "[virtual_memory][V12]") {
    std::vector<int> order = {0, 1, 2, 3};
    do {
        INFO(order[0] << order[1] << order[2] << order[3]);
        const MappingDevice place = mapping_device_after_restart();
        auto range = *AddressRange::reserve(place.device, place.unit);
        auto memory = *PhysicalMemory::create(place.device, place.unit);
        auto mapped = *MappedRange::map(range, 0, memory, place.access());
        MappedRange second = mapped.share();
        REQUIRE(write(place, mapped.native(), pattern(10)));
        const auto calls = destroying_calls_in([&] {
            for (const int owner : order) {
                owner == 0   ? range.reset()
                : owner == 1 ? memory.reset()
                : owner == 2 ? mapped.reset()
                             : second.reset();
            }
        });
        if (simulator() == nullptr) {
            continue;
        }
        REQUIRE(calls.size() == 3);
        CHECK(calls[0] == "cuMemUnmap"); // always first
        CHECK(std::find(calls.begin(), calls.end(), "cuMemAddressFree") != calls.end());
        CHECK(std::find(calls.begin(), calls.end(), "cuMemRelease") != calls.end());
        check_clean();
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("closing the last mapping unmaps, frees its range and releases its memory",
          "[virtual_memory][V12]") {
    need_simulator("needs the simulator, which records the calls");
    const MappingDevice place = mapping_device_after_restart();
    auto mapped = ok(map_new(place, place.unit));
    CHECK(destroying_calls_in([&] { CHECK(mapped.close()); }) ==
          std::vector<std::string>{"cuMemUnmap", "cuMemAddressFree", "cuMemRelease"});
    check_clean();
}

SCENARIO_TEST("a mapping waits for its stream before it is unmapped", "[virtual_memory][V12]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const Stream stream, Stream::create(place.context, {.non_blocking = true}));
    CUSHIM_TRY(auto mapped, map_new(place, place.unit));
    CUSHIM_TRY(auto target, DeviceBuffer<std::uint32_t>::allocate(place.context, 1000));
    CUSHIM_TRY_VOID(mapped.release_after(stream));
    const DeviceSpan<std::uint32_t> source(mapped.native(), 1000);
    CUSHIM_TRY_VOID(fill(stream, source, 0x1234u));
    CUSHIM_TRY_VOID(copy(stream, target.span(), source));
    CUSHIM_TRY_VOID(mapped.close());
    return check_gives(read(place, target.native(), 1000),
                       std::vector<std::uint32_t>(1000, 0x1234u));
}

TEST_CASE("without release_after() memory is unmapped while work uses it",
          "[virtual_memory][V12]") {
    need_simulator("leaves a context that no other test can use");
    const MappingDevice place = mapping_device_after_restart("mode=adversarial");
    {
        const auto stream = ok(Stream::create(place.context, {.non_blocking = true}));
        auto mapped = ok(map_new(place, place.unit));
        REQUIRE(fill(stream, DeviceSpan<std::uint32_t>(mapped.native(), 1000), 1u));
        CHECK(mapped.close());
        CHECK_FALSE(misuses().empty());
    }
    restart("");
}

SCENARIO_TEST("waiting for a stream keeps a capture valid", "[virtual_memory][V12]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const Stream captured, Stream::create(place.context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream stream, Stream::create(place.context, {.non_blocking = true}));
    CUSHIM_TRY(auto mapped, map_new(place, place.unit));
    CUSHIM_TRY_VOID(mapped.release_after(stream));
    CUSHIM_TRY_VOID(captured.begin_capture(CaptureMode::global));
    const auto closed = mapped.close();
    CUSHIM_TRY_VOID(captured.end_capture());
    return closed;
}

TEST_CASE("closing a mapping fails if its stream is being captured", "[virtual_memory][V12]") {
    const MappingDevice place = mapping_device_after_restart();
    const auto stream = ok(Stream::create(place.context, {.non_blocking = true}));
    auto mapped = ok(map_new(place, place.unit));
    REQUIRE(mapped.release_after(stream));
    REQUIRE(stream.begin_capture());
    CHECK(error_of(mapped.close()).status() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(stream.end_capture());
    CHECK(misuses().empty());
}

TEST_CASE("failures of both waiting and unmapping are reported", "[virtual_memory][V12]") {
    need_faults();
    const MappingDevice place = mapping_device_after_restart();
    const auto stream = ok(Stream::create(place.context));
    auto mapped = ok(map_new(place, place.unit));
    REQUIRE(mapped.release_after(stream));
    const Reports reports;
    always_fail_after("cuStreamSynchronize");
    always_fail_after("cuMemUnmap");
    const auto closed = mapped.close();
    simulator()->clear_faults();
    REQUIRE_FALSE(closed);
    CHECK(std::string(closed.error().entry_point()) == "cuStreamSynchronize");
    CHECK(reports.names() == std::vector<std::string>{"cuMemUnmap"});
}

TEST_CASE("release_after() rejects empty and default streams and borrowed mappings",
          "[virtual_memory][V12]") {
    const MappingDevice place = mapping_device_after_restart();
    const auto mapped = ok(map_new(place, place.unit));
    CHECK(refused(mapped.release_after(Stream())));
    CHECK(refused(mapped.release_after(Stream::legacy())));
    CHECK(refused(mapped.release_after(Stream::per_thread())));
    const auto stream = ok(Stream::create(place.context));
    CHECK(refused(MappedRange::borrow(mapped.native(), 1).release_after(stream)));
}

TEST_CASE("several threads share one mapping", "[virtual_memory][V12]") {
    const MappingDevice place = mapping_device_after_restart();
    {
        const auto first = ok(Stream::create(place.context, {.non_blocking = true}));
        const auto second = ok(Stream::create(place.context, {.non_blocking = true}));
        auto mapped = ok(map_new(place, place.unit));
        std::vector<std::thread> threads;
        std::atomic<int> failures = 0;
        for (const auto *stream : {&first, &second, &first, &second}) {
            threads.emplace_back([&failures, stream, own = mapped.share()]() mutable {
                for (int i = 0; i != 200; ++i) {
                    const MappedRange more = own.share();
                    failures += more.release_after(*stream) ? 0 : 1;
                }
                own.reset();
            });
        }
        mapped.reset(); // the last thread unmaps
        for (std::thread &thread : threads) {
            thread.join();
        }
        CHECK(failures == 0);
    }
    CHECK(misuses().empty());
}

SCENARIO_TEST("mappings are adopted and borrowed", "[virtual_memory]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, 2 * place.unit));
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(place.device, place.unit));
    CUSHIM_TRY(auto made, MappedRange::map(range, place.unit, memory, place.access()));
    CUSHIM_TRY(const auto adopted, MappedRange::adopt(range, place.unit, memory));
    CHECK(adopted.native() == made.native());
    (void)made.release();
    const auto lent = MappedRange::borrow(adopted.native(), adopted.size());
    return check_gives(lent.get_access(place.device), AccessFlags::read_write);
}

TEST_CASE("virtual memory calls neither need nor make a current context", "[virtual_memory][V3]") {
    restart("");
    const auto device = ok(Device::get(0));
    REQUIRE(driver().cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    {
        const std::size_t unit = ok(Granularity::of(device)).minimum;
        const auto range = ok(AddressRange::reserve(device, unit));
        const auto memory = ok(PhysicalMemory::create(device, unit));
        const auto mapped =
            ok(MappedRange::map(range, 0, memory, {device, AccessFlags::read_write}));
        CHECK(*mapped.get_access(device) == AccessFlags::read_write);
        CHECK(current_context() == nullptr);
    }
    CHECK(current_context() == nullptr);
    CHECK((simulator() == nullptr || !is_primary_active(device)));
}
