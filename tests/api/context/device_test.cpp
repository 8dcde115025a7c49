#include "harness/scenario.hpp"

#include <cstring>

using namespace api_test;
using namespace cushim;

SCENARIO_TEST("a device is found again by what names it", "[device]", "devices=3") {
    CUSHIM_TRY(const int count, Device::count());
    REQUIRE(count > 0);
    CUSHIM_TRY(const Device last, Device::get(count - 1));
    CUSHIM_TRY(const DeviceUuid uuid, last.uuid());
    CHECK_GIVES(Device::by_uuid(uuid), last);
    CUSHIM_TRY(const PciBusId id, last.pci_bus_id());
    CHECK_GIVES(Device::by_pci_bus_id(id.c_str()), last);
    return {};
}

SCENARIO_TEST("what a device tells of itself", "[device]") {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const DeviceName name, device.name());
    CHECK(std::strlen(name.c_str()) > 0);
    CUSHIM_TRY(const ComputeCapability capability, device.compute_capability());
    CHECK(capability >= ComputeCapability{3, 5});
    CHECK_GIVES(device.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
    CUSHIM_TRY(const std::size_t total, device.total_memory());
    CHECK(total > 0);
    return {};
}

// Whatever is current: the harness has a context of device 0 current.
SCENARIO_TEST("the memory of a device is its own", "[device]", "devices=2;memory=1GiB") {
    CUSHIM_TRY(const int count, Device::count());
    CUSHIM_TRY(const Device last, Device::get(count - 1));
    CUSHIM_TRY(const Context context, Context::primary(last));
    CUSHIM_TRY(const MemoryInfo before, last.memory_info());
    CUSHIM_TRY(const auto buffer, DeviceBuffer<char>::allocate(context, 64 << 20));
    CUSHIM_TRY(const MemoryInfo after, last.memory_info());
    CHECK(after.total == before.total);
    if (simulator() != nullptr) { // on a real one others allocate and free meanwhile
        CHECK(after.free <= before.free - (64 << 20));
    }
    return {};
}

SCENARIO_TEST("devices tell who can access whom", "[device]", "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device first, Device::get(0));
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const bool can, first.can_access(second));
    CUSHIM_TRY(const int supported,
               first.peer_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, second));
    CHECK(can == (supported != 0));
    return {};
}

TEST_CASE("devices that do not exist", "[device]") {
    restart("devices=1");
    const auto count = required(Device::count());
    CHECK(error_of(Device::get(count)).status() == CUDA_ERROR_INVALID_DEVICE);
    CHECK(error_of(Device::by_uuid({{0xff, 0xff, 0xff}})).kind() == ErrorKind::no_device);
    CHECK_FALSE(Device::by_pci_bus_id("ffff:ff:1f.7").has_value());
    const Error attribute =
        error_of(Device::from_native(0).attribute(static_cast<CUdevice_attribute>(100000)));
    CHECK(attribute.status() == CUDA_ERROR_INVALID_VALUE);
}
