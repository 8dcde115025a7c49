// CUDA memory that is exported and imported again as external memory, on every device and without
// another API. Every byte is compared, and descriptors are counted.
#include "harness/devices.hpp"

#include <cushim/external_memory.hpp>

#include "harness/mapped_memory.hpp"
#include "support/child_process.hpp"

#include <algorithm>

using namespace api_test;
using namespace cushim;

namespace {

constexpr PhysicalMemoryOptions shareable{.exportable = {.posix_fd = true}};

using Words = std::vector<std::uint32_t>;

// Physical memory, its mapping and its import.
struct Both {
    PhysicalMemory memory;
    MappedRange mapped;
    ExternalMemory imported;

    std::size_t words() const { return mapped.size() / sizeof(std::uint32_t); }
};

Both export_and_import(const Worker &worker, std::size_t granules) {
    const auto granularity = ok(Granularity::of(worker.device, shareable));
    const std::size_t size = granules * granularity.minimum;
    auto memory = ok(PhysicalMemory::create(worker.device, size, shareable));
    const auto range = ok(AddressRange::reserve(worker.device, size));
    auto mapped =
        ok(MappedRange::map(range, 0, memory, AccessGrant(worker.device, AccessFlags::read_write)));
    auto source = ExternalMemorySource::opaque_fd(ok(memory.export_fd()));
    auto imported = ok(ExternalMemory::import_from(worker.context, std::move(source), size));
    return {std::move(memory), std::move(mapped), std::move(imported)};
}

Words read(const Worker &worker, DeviceSpan<const std::uint32_t> from) {
    Words words(from.size());
    ok(copy(worker.context, std::span(words), from));
    return words;
}

} // namespace

TEST_CASE("the mapping and the import of memory see each other's writes", "[X13]") {
    restart("devices=2");
    for (const Device device : need_devices(1)) {
        const Worker worker = ok(Worker::on(device));
        for (const std::size_t granules : {1, 2, 9}) {
            INFO("device " << device.native() << ", " << granules << " granules");
            const Both both = export_and_import(worker, granules);
            const auto buffer = ok(both.imported.map_buffer(0, both.mapped.size()));
            const auto theirs = ok(buffer.as<std::uint32_t>());
            const auto ours = both.mapped.span<std::uint32_t>();
            ok(copy(worker.context, ours, pattern(both.words())));
            CHECK(read(worker, theirs) == pattern(both.words()));
            ok(copy(worker.context, theirs, pattern(both.words(), 5)));
            CHECK(read(worker, ours) == pattern(both.words(), 5));
        }
    }
}

TEST_CASE("a buffer in a part of an import maps only that part", "[X3][X13]") {
    restart("");
    const Worker worker = ok(Worker::on(need_devices(1)[0]));
    const Both both = export_and_import(worker, 3);
    const std::size_t third = both.mapped.size() / 3;
    const auto middle = ok(both.imported.map_buffer(third, third));
    const auto theirs = ok(middle.as<int>());
    ok(fill(worker.context, both.mapped.span<int>(), 1));
    ok(worker.fill(theirs, 2)); // a kernel
    const auto values = ok(worker.read(both.mapped.span<int>()));
    const auto part = static_cast<std::ptrdiff_t>(third / sizeof(int));
    for (const int index : {0, 1, 2}) {
        const auto begin = values.begin() + index * part;
        CHECK(std::count(begin, begin + part, index == 1 ? 2 : 1) == part);
    }
}

TEST_CASE("an import keeps the memory alive without its other owners", "[X1][X13]") {
    restart("");
    const Worker worker = ok(Worker::on(need_devices(1)[0]));
    Both both = export_and_import(worker, 2);
    const std::size_t words = both.words();
    ok(copy(worker.context, both.mapped.span<std::uint32_t>(), pattern(words)));
    ok(both.mapped.close());
    ok(both.memory.close());
    const auto buffer = ok(both.imported.map_buffer(0, words * sizeof(std::uint32_t)));
    ok(both.imported.close());
    CHECK(read(worker, ok(buffer.as<std::uint32_t>())) == pattern(words));
}

TEST_CASE("exports and imports leak neither descriptors nor memory", "[X2][X13]") {
    restart("");
    const Worker worker = ok(Worker::on(need_devices(1)[0]));
    const auto round = [&] {
        const Both both = export_and_import(worker, 1);
        const auto buffer = ok(both.imported.map_buffer(0, both.mapped.size()));
        ok(fill(worker.context, buffer.span(), std::byte{1}));
    };
    round(); // a driver may keep something open after the first round
    const std::size_t descriptors = support::open_descriptors();
    const MemoryInfo before = ok(worker.context.memory_info());
    for (int index = 0; index < 50; ++index) {
        round();
        REQUIRE(support::open_descriptors() == descriptors);
    }
    CHECK(ok(worker.context.memory_info()).free == before.free);
}
