// Physical memory: creation, properties and export.
#include "harness/mapped_memory.hpp"

#include <cushim/feature.hpp>
#include <cushim/override.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#ifndef _WIN32
#include <fcntl.h>
#endif

using namespace api_test;
using namespace cushim;

namespace {

// Memory that can be shared with other processes on this system.
constexpr PhysicalMemoryOptions shareable{.exportable = {.posix_fd = true}};
constexpr PhysicalMemoryOptions for_fabric{.exportable = {.fabric = true}};

Device device_now(const std::string &settings = "") {
    restart(settings);
    return ok(Device::get(0));
}

std::size_t unit_of(Device device) {
    return ok(Granularity::of(device)).minimum;
}

// The properties passed to CUDA, in order.
std::vector<CUmemAllocationProp> asked;

CUresult CUDAAPI granularity_asked(std::size_t *granularity, const CUmemAllocationProp *properties,
                                   CUmemAllocationGranularity_flags) {
    asked.push_back(*properties);
    *granularity = 4096;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI create_asked(CUmemGenericAllocationHandle *handle, std::size_t,
                              const CUmemAllocationProp *properties, unsigned long long) {
    asked.push_back(*properties);
    *handle = 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI released(CUmemGenericAllocationHandle) {
    return CUDA_SUCCESS;
}

// Replaces the calls that make memory.
struct Recorded {
    Recorded() { asked.clear(); }
    ScopedOverride<entry::cuMemGetAllocationGranularity> granularity{granularity_asked};
    ScopedOverride<entry::cuMemCreate> create{create_asked};
    ScopedOverride<entry::cuMemRelease> release{released};
};

CUresult CUDAAPI properties_reported(CUmemAllocationProp *properties,
                                     CUmemGenericAllocationHandle) {
    *properties = {};
    properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties->location.id = 3;
    properties->allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    properties->allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    return CUDA_SUCCESS;
}

} // namespace

SCENARIO_TEST("memory reports its size and the properties of its options",
              "[physical_memory][V1][V5]", ()) {
    CUSHIM_TRY(const Device device, Device::get(0));
    const PhysicalMemoryOptions options{.exportable = {}, .gpu_direct_rdma = true};
    CUSHIM_TRY(const Granularity granularity, Granularity::of(device, options));
    CHECK(granularity.minimum > 0);
    CHECK(granularity.recommended >= granularity.minimum);
    CUSHIM_TRY(const std::size_t size, granularity.round_up(std::size_t(1) << 20));
    CUSHIM_TRY(const auto memory, PhysicalMemory::create(device, size, options));
    CHECK(memory);
    CHECK(memory.size() == size);
    CUSHIM_TRY(const auto properties, memory.properties());
    CHECK(properties.device == device.native());
    CHECK(properties.options.gpu_direct_rdma);
    CHECK_FALSE(properties.options.exportable.posix_fd);
    return {};
}

TEST_CASE("round_up() returns a multiple of the granularity or fails", "[physical_memory][V5]") {
    const Granularity granularity{1000, 4000};
    CHECK(*granularity.round_up(0) == 0);
    CHECK(*granularity.round_up(1) == 1000);
    CHECK(*granularity.round_up(1000) == 1000);
    CHECK(*granularity.round_up(1001) == 2000);
    CHECK(*granularity.round_up_recommended(1001) == 4000);
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    check_tells(granularity.round_up(most), {most, 1000});
    CHECK(*granularity.round_up(most / 1000 * 1000) == most / 1000 * 1000);
}

TEST_CASE("the granularity is queried with the properties of the memory",
          "[physical_memory][V1][V2]") {
    const Device device = device_now();
    PhysicalMemoryOptions options;
    options.gpu_direct_rdma = true;
    options.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
#ifndef _WIN32
    options.exportable.posix_fd = true;
#endif
    const Recorded recorded;
    REQUIRE(Granularity::of(device, options));
    REQUIRE(PhysicalMemory::create(device, 8192, options));
    REQUIRE(asked.size() == 4); // minimum, recommended; minimum, and the memory
    for (const CUmemAllocationProp &properties : asked) {
        CHECK(std::memcmp(&properties, &asked.front(), sizeof properties) == 0);
    }
    const CUmemAllocationProp &properties = asked.back();
    CHECK(properties.allocFlags.gpuDirectRDMACapable == 1);
    CHECK(properties.allocFlags.usage == CU_MEM_CREATE_USAGE_TILE_POOL);
#ifndef _WIN32
    CHECK(properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
#endif
}

TEST_CASE("properties() returns what CUDA reports", "[physical_memory][V5]") {
    (void)device_now();
    const ScopedOverride<entry::cuMemGetAllocationPropertiesFromHandle> reported{
        properties_reported};
    const auto properties = ok(PhysicalMemory::borrow(1, 4096).properties());
    CHECK(properties.device == 3);
    CHECK(properties.options.compressible);
    CHECK(properties.options.usage == CU_MEM_CREATE_USAGE_TILE_POOL);
    CHECK_FALSE(properties.options.gpu_direct_rdma);
}

TEST_CASE("by default memory is pinned device memory and not exportable", "[physical_memory][V2]") {
    const Device device = device_now();
    const Recorded recorded;
    REQUIRE(PhysicalMemory::create(device, 4096));
    CUmemAllocationProp expected{};
    expected.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    expected.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    expected.location.id = device.native();
    CHECK(std::memcmp(&asked.back(), &expected, sizeof expected) == 0);
}

TEST_CASE("a size that is not a multiple of the granularity is rejected", "[physical_memory][V5]") {
    const Device device = device_now();
    const std::size_t unit = unit_of(device);
    for (const std::size_t size : {std::size_t(0), unit + 1, unit / 2, unit - 1}) {
        check_tells(PhysicalMemory::create(device, size), {size, unit});
    }
    CHECK(refused(PhysicalMemory::create(device, (std::size_t(1) << 50) / unit * unit),
                  ErrorKind::out_of_memory));
}

SCENARIO_TEST("memory has several owners, and a borrowed object does not own it",
              "[physical_memory][V5][V6]", (const MappingDevice &place)) {
    CUSHIM_TRY(auto memory, PhysicalMemory::create(place.device, place.unit));
    PhysicalMemory second = memory.share();
    const auto borrowed = PhysicalMemory::borrow(memory.native(), memory.size());
    memory.reset();
    CHECK_FALSE(memory);
    CHECK(memory.size() == 0);
    CHECK(memory.native() == 0);
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, place.unit));
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 0, borrowed, place.access()));
    CHECK(mapped.size() == second.size());
    return second.close();
}

SCENARIO_TEST("adopt() takes ownership of memory", "[physical_memory]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(auto made, PhysicalMemory::create(place.device, place.unit));
    const std::size_t size = made.size();
    CUSHIM_TRY(const auto adopted, PhysicalMemory::adopt(made.native(), size));
    (void)made.release();
    CHECK_FALSE(made);
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, size));
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 0, adopted, place.access()));
    CHECK(mapped);
    return {};
}

SCENARIO_TEST("memory stays mapped after its owner is destroyed", "[physical_memory][V6]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, place.unit));
    CUSHIM_TRY(auto memory, PhysicalMemory::create(place.device, place.unit));
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 0, memory, place.access()));
    memory.reset();
    CUSHIM_TRY_VOID(write(place, mapped.native(), pattern(100)));
    return check_gives(read(place, mapped.native(), 100), pattern(100));
}

SCENARIO_TEST("retain_from() returns the memory mapped at an address", "[physical_memory][retain]",
              (const MappingDevice &place)) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, 4 * place.unit));
    CUSHIM_TRY(auto memory, PhysicalMemory::create(place.device, 2 * place.unit));
    CUSHIM_TRY(auto mapped, MappedRange::map(range, 0, memory, place.access()));
    CUSHIM_TRY_VOID(write(place, mapped.native(), pattern(100)));
    CUSHIM_TRY(const auto retained, PhysicalMemory::retain_from(mapped.native() + place.unit + 5));
    CHECK(retained.native() == memory.native());
    CHECK(retained.size() == memory.size());
    CUSHIM_TRY(auto known, PhysicalMemory::retain_from(mapped.native(), memory.size()));
    CHECK(known.native() == memory.native());
    known.reset();
    memory.reset();
    CUSHIM_TRY_VOID(mapped.close());
    CUSHIM_TRY(const auto again, MappedRange::map(range, 2 * place.unit, retained, place.access()));
    return check_gives(read(place, again.native(), 100), pattern(100));
}

TEST_CASE("retain_from() fails for an address without a mapping", "[physical_memory][retain]") {
    const Device device = device_now();
    const auto range = ok(AddressRange::reserve(device, unit_of(device)));
    CHECK_FALSE(PhysicalMemory::retain_from(range.native()));
    CHECK_FALSE(PhysicalMemory::retain_from(range.native(), range.size()));
    CHECK_FALSE(PhysicalMemory::retain_from(0));
    CHECK(misuses().empty());
}

SCENARIO_TEST("host NUMA memory is mapped for the device and the host", "[physical_memory][V2]",
              (Trial &trial)) {
    trial.needs_cuda(12, 2);
    const PhysicalMemoryOptions options{.host_numa_node = 0, .exportable = {}};
    CUSHIM_TRY(const MappingDevice place, MappingDevice::make());
    const auto granularity = Granularity::of(place.device, options);
    const auto made = granularity.and_then([&](const Granularity &of_host) {
        return PhysicalMemory::create(place.device, of_host.recommended, options);
    });
    if (!made) {
        if (simulator() == nullptr) {
            trial.skip(std::string("no memory of host NUMA node 0: ") + made.error().message());
        }
        return made.error();
    }
    const PhysicalMemory &memory = *made;
    CUSHIM_TRY(const auto properties, memory.properties());
    CHECK(properties.device == -1);
    CHECK(properties.options.host_numa_node == 0);
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, memory.size()));
    const AccessGrant both[] = {place.access(), AccessGrant::host_numa(0, AccessFlags::read_write)};
    CUSHIM_TRY(const auto mapped, MappedRange::map(range, 0, memory, both));
    CUSHIM_TRY_VOID(write(place, mapped.native(), pattern(100)));
    std::vector<std::uint32_t> seen(100);
    std::memcpy(seen.data(), mapped.span<std::uint32_t>().data(), 400);
    CHECK(seen == pattern(100));
    return {};
}

TEST_CASE("an option that the device lacks fails with not_supported_by_device",
          "[physical_memory][V13]") {
    need_simulator("needs the simulator, whose devices can lack a feature");
    struct Case {
        const char *settings;
        PhysicalMemoryOptions options;
        const char *lacking; // the driver does not report it
    };
    const PhysicalMemoryOptions compressible{.exportable = {}, .compressible = true},
        rdma{.exportable = {}, .gpu_direct_rdma = true};
    std::vector<Case> cases = {{"attribute.102=0", {}, "virtual memory management"},
                               {"attribute.107=0", compressible, "compress"},
                               {"attribute.110=0", rdma, "RDMA"}};
#ifndef _WIN32
    cases.push_back({"attribute.103=0", shareable, "file descriptors"});
#endif
    if (supports(driver_version(), Feature::fabric_handles)) {
        cases.push_back({"attribute.128=0", for_fabric, "fabric"});
    }
    for (const Case &one : cases) {
        INFO(one.settings);
        const Device device = device_now(one.settings);
        CHECK(refused(Granularity::of(device, one.options), ErrorKind::not_supported_by_device));
        const auto memory = PhysicalMemory::create(device, std::size_t(2) << 20, one.options);
        check_refused(memory, one.lacking, ErrorKind::not_supported_by_device);
    }
    CHECK(leaks().empty());
}

TEST_CASE("compressible memory is requested with generic compression", "[physical_memory][V2]") {
    const Device device = device_now("attribute.107=1");
    const PhysicalMemoryOptions options{.exportable = {}, .compressible = true};
    const Recorded recorded;
    const auto memory = PhysicalMemory::create(device, 4096, options);
    if (refused(memory, ErrorKind::not_supported_by_device)) {
        SKIP("this device has no compressible memory");
    }
    REQUIRE(memory);
    CHECK(asked.back().allocFlags.compressionType == CU_MEM_ALLOCATION_COMP_GENERIC);
}

TEST_CASE("handles of the other operating system fail with unsupported_platform",
          "[physical_memory][share]") {
    const Device device = device_now();
    const std::size_t unit = unit_of(device);
    PhysicalMemoryOptions options;
#ifdef _WIN32
    options.exportable.posix_fd = true;
#else
    int attributes = 0;
    options.exportable.win32 = true;
    options.win32_attributes = &attributes;
#endif
    CHECK(refused(PhysicalMemory::create(device, unit, options), ErrorKind::unsupported_platform));
    PhysicalMemoryOptions stray;
    stray.win32_attributes = &options;
    CHECK(refused(PhysicalMemory::create(device, unit, stray)));
}

TEST_CASE("fabric_works() tests the fabric instead of the attribute", "[physical_memory][fabric]") {
    const Device device = device_now("attribute.128=1");
    const auto works = PhysicalMemory::fabric_works(device);
    if (!supports(driver_version(), Feature::fabric_handles)) {
        REQUIRE(refused(works, ErrorKind::requires_newer_driver));
        CHECK(works.error().required() == Version::of(12, 3));
        CHECK(refused(PhysicalMemory::import_fabric({}, unit_of(device)),
                      ErrorKind::requires_newer_driver));
        return;
    }
    REQUIRE(works);
    const auto memory = PhysicalMemory::create(device, unit_of(device), for_fabric);
    CHECK(memory.has_value() == *works);
    if (!memory) {
        CHECK(refused(memory, ErrorKind::not_permitted));
    }
    CHECK_FALSE(PhysicalMemory::import_fabric({}, unit_of(device)));
}

TEST_CASE("fabric_works() returns whether an export succeeds", "[physical_memory][fabric]") {
    restart("attribute.128=1");
    if (!supports(driver_version(), Feature::fabric_handles)) {
        SKIP("this driver has no fabric handles");
    }
    const Device device = ok(Device::get(0));
    {
        const Recorded recorded;
        const auto works = PhysicalMemory::fabric_works(device);
        REQUIRE(works);
        CHECK(*works);
        CHECK(static_cast<int>(asked.back().requestedHandleTypes) == 8);
    }
    if (simulator() != nullptr) {
        restart("attribute.128=0");
        const auto works = PhysicalMemory::fabric_works(device);
        REQUIRE(works);
        CHECK_FALSE(*works);
    }
}

SCENARIO_TEST("fabric_works() leaves no resources behind", "[physical_memory][fabric]",
              (Trial &trial)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const bool works, PhysicalMemory::fabric_works(device));
    if (simulator() != nullptr) {
        CHECK_FALSE(works);
    }
    return {};
}

#ifndef _WIN32

SCENARIO_TEST("importing memory by descriptor leaves the descriptor open",
              "[physical_memory][share]", ()) {
    CUSHIM_TRY(const MappingDevice place, MappingDevice::make(shareable));
    CUSHIM_TRY(const auto mapped, map_new(place, 2 * place.unit, shareable));
    CUSHIM_TRY_VOID(write(place, mapped.native(), pattern(100)));
    CUSHIM_TRY(const auto memory, PhysicalMemory::retain_from(mapped.native()));
    CUSHIM_TRY(const UniqueFd first, memory.export_fd());
    CUSHIM_TRY(const UniqueFd second, memory.export_fd());
    CHECK(first.get() != second.get());
    CHECK((fcntl(first.get(), F_GETFD) & FD_CLOEXEC) != 0);

    CUSHIM_TRY(const auto imported, PhysicalMemory::import_fd(first.get(), memory.size()));
    CHECK(fcntl(first.get(), F_GETFD) != -1);
    CHECK(imported.native() != memory.native());
    CHECK(imported.size() == memory.size());
    CUSHIM_TRY(const auto properties, imported.properties());
    CHECK(properties.device == place.device.native());
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, imported.size()));
    CUSHIM_TRY(const auto other, MappedRange::map(range, 0, imported, place.access()));
    CUSHIM_TRY_VOID(check_gives(read(place, other.native(), 100), pattern(100)));
    CUSHIM_TRY_VOID(write(place, other.native() + place.unit, pattern(100, 7)));
    return check_gives(read(place, mapped.native() + place.unit, 100), pattern(100, 7));
}

TEST_CASE("importing another file fails and leaves its descriptor open",
          "[physical_memory][share]") {
    const Device device = device_now();
    const std::size_t unit = unit_of(device);
    CHECK(refused(PhysicalMemory::import_fd(-1, unit)));
    UniqueFd nothing(open("/dev/null", O_RDWR));
    REQUIRE(nothing);
    CHECK(refused(PhysicalMemory::import_fd(nothing.get(), unit), ErrorKind::status));
    CHECK(nothing.duplicate());
    const int closed = nothing.get();
    nothing.reset();
    CHECK(refused(PhysicalMemory::import_fd(closed, unit)));
}

TEST_CASE("importing memory with a wrong size fails", "[physical_memory][share]") {
    const Device device = device_now();
    const std::size_t unit = unit_of(device);
    {
        auto memory = ok(PhysicalMemory::create(device, unit, shareable));
        auto descriptor = ok(memory.export_fd());
        const auto none = PhysicalMemory::import_fd(descriptor.get(), 0);
        CHECK(refused(none));
        check_tells(PhysicalMemory::import_fd(descriptor.get(), unit + 1), {unit + 1, unit});
        CHECK(descriptor.duplicate());

        const auto larger = ok(PhysicalMemory::import_fd(descriptor.get(), 2 * unit));
        const auto range = ok(AddressRange::reserve(device, 2 * unit));
        CHECK(refused(MappedRange::map(range, 0, larger), ErrorKind::not_supported_by_device));
    }
    CHECK(leaks().empty());
    CHECK(misuses().empty());
}

#endif
