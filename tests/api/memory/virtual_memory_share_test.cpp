// Physical memory in two processes that were started apart: the second one is this program again,
// with one hidden test case.
#include "harness/mapped_memory.hpp"
#include "support/child_process.hpp"
#include "support/ok.hpp"

#ifndef _WIN32

using namespace api_test;
using namespace cushim;
using support::Channel;
using support::Child;
using support::ok;

namespace {

PhysicalMemoryOptions shareable() {
    PhysicalMemoryOptions options;
    options.exportable.posix_fd = true;
    return options;
}

MappedRange map_all(const Place &place, const PhysicalMemory &memory) {
    const auto range = ok(AddressRange::reserve(place.device, memory.size()));
    return ok(MappedRange::map(range, 0, memory, place.access()));
}

} // namespace

TEST_CASE("two processes map the same memory", "[virtual_memory][share]") {
    restart("");
    {
        const Place place = ok(Place::make(shareable()));
        const auto memory = ok(PhysicalMemory::create(place.device, 2 * place.unit, shareable()));
        const auto mapped = map_all(place, memory);
        ok(write(place, mapped.native(), pattern(1000)));

        Child child("child: maps the memory of a descriptor");
        const UniqueFd descriptor = ok(memory.export_fd());
        child.channel().send(memory.size());
        child.channel().send_fd(descriptor.get());
        child.channel().await(); // it has written
        CHECK(ok(read(place, mapped.native(), 1000)) == pattern(1000));
        CHECK(ok(read(place, mapped.native() + place.unit, 1000)) == pattern(1000, 7));
        CHECK(child.passed());
    }
    CHECK(leaks().empty());
    CHECK(misuses().empty());
}

TEST_CASE("child: maps the memory of a descriptor", "[.]") {
    Channel parent = Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    UniqueFd descriptor(parent.receive_fd());
    const Place place = ok(Place::make(shareable()));
    const auto memory = ok(PhysicalMemory::import_fd(descriptor.get(), size));
    descriptor.reset(); // the memory needs it no longer
    const auto mapped = map_all(place, memory);
    CHECK(ok(read(place, mapped.native(), 1000)) == pattern(1000));
    ok(write(place, mapped.native() + place.unit, pattern(1000, 7)));
    parent.signal();
}

TEST_CASE("a descriptor keeps the memory of a process that has let go of it",
          "[virtual_memory][share]") {
    restart("");
    const Place place = ok(Place::make(shareable()));
    Child child("child: maps memory that only the descriptor keeps");
    {
        const auto memory = ok(PhysicalMemory::create(place.device, place.unit, shareable()));
        const auto mapped = map_all(place, memory);
        ok(write(place, mapped.native(), pattern(1000)));
        const UniqueFd descriptor = ok(memory.export_fd());
        child.channel().send(memory.size());
        child.channel().send_fd(descriptor.get());
    }
    child.channel().signal();
    CHECK(child.passed());
}

TEST_CASE("child: maps memory that only the descriptor keeps", "[.]") {
    Channel parent = Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    const UniqueFd descriptor(parent.receive_fd());
    parent.await();
    const Place place = ok(Place::make(shareable()));
    const auto memory = ok(PhysicalMemory::import_fd(descriptor.get(), size));
    const auto mapped = map_all(place, memory);
    CHECK(ok(read(place, mapped.native(), 1000)) == pattern(1000));
}

TEST_CASE("no descriptor is left open, whatever fails", "[virtual_memory][share]") {
    restart("");
    const Place place = ok(Place::make(shareable()));
    const std::size_t before = support::open_descriptors();
    {
        const auto memory = ok(PhysicalMemory::create(place.device, place.unit, shareable()));
        const UniqueFd descriptor = ok(memory.export_fd());
        CHECK_FALSE(PhysicalMemory::import_fd(descriptor.get(), place.unit + 1));
        const auto imported = ok(PhysicalMemory::import_fd(descriptor.get(), place.unit));
        CHECK(map_all(place, imported).size() == place.unit);
        CHECK(support::is_open(descriptor.get()));
    }
    CHECK(support::open_descriptors() == before);
}

#endif
