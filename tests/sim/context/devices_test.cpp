// Devices that differ from each other, pairs of peers, and the devices that a process sees.
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

std::size_t memory_of(CUdevice device) {
    return got<std::size_t>(&Driver::cuDeviceTotalMem, out, device);
}

std::string uuid_of(CUdevice device) {
    const auto uuid = got<CUuuid>(&Driver::cuDeviceGetUuid, out, device);
    return {uuid.bytes, sizeof uuid.bytes};
}

int attribute(int which, CUdevice device) {
    return got<int>(&Driver::cuDeviceGetAttribute, out, static_cast<CUdevice_attribute>(which),
                    device);
}

bool can_access(CUdevice from, CUdevice to) {
    return got<int>(&Driver::cuDeviceCanAccessPeer, out, from, to) == 1;
}

// The variable CUDA_VISIBLE_DEVICES for a scope.
class VisibleDevices : Unique {
  public:
    explicit VisibleDevices(const char *value) { set(value); }
    ~VisibleDevices() { set(nullptr); } // the default of all test cases

  private:
    static void set(const char *value) {
#ifdef _WIN32
        _putenv_s("CUDA_VISIBLE_DEVICES", value != nullptr ? value : "");
#else
        if (value != nullptr) {
            setenv("CUDA_VISIBLE_DEVICES", value, 1);
        } else {
            unsetenv("CUDA_VISIBLE_DEVICES");
        }
#endif
    }
};

// The indices of the devices that a process sees with that value, out of `devices`. None if cuInit
// returns the status.
std::vector<int> visible(const std::string &value, int devices,
                         CUresult expected = CUDA_ERROR_NO_DEVICE) {
    const VisibleDevices variable(value.c_str());
    sim_control().reset();
    std::string settings = "devices=" + std::to_string(devices);
    for (int i = 0; i < devices; ++i) {
        settings += ";name." + std::to_string(i) + "=" + std::to_string(i);
    }
    configure(settings);
    std::vector<int> places;
    if (const CUresult status = driver().cuInit(0); status != CUDA_SUCCESS) {
        CHECK(status == expected);
        return places;
    }
    const auto count = got<int>(&Driver::cuDeviceGetCount, out);
    for (CUdevice i = 0; i < count; ++i) {
        places.push_back(std::stoi(name_of(i)));
    }
    return places;
}

} // namespace

TEST_CASE("settings for one device override those for all") {
    start("devices=3; name.1=Odd One; name=Usual; memory.2=2GiB; memory=1GiB; cc.1=8.6; "
          "attribute.16=7; attribute.1.16=9; attribute.2.102=unknown");
    CHECK(name_of(0) == "Usual");
    CHECK(name_of(1) == "Odd One");
    CHECK(name_of(2) == "Usual");
    CHECK(memory_of(1) == std::size_t(1) << 30);
    CHECK(memory_of(2) == std::size_t(2) << 30);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) == 9);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1) == 8);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1) == 6);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0) == 7);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1) == 9);
    CHECK(attribute(102, 1) == 1);
    CHECK(uuid_of(0) != uuid_of(1));
    int value = 0;
    CHECK(driver().cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(102), 2) ==
          invalid);
}

TEST_CASE("the memory budget of a device does not limit the others") {
    start("devices=2; budget.0=64KiB");
    CUdeviceptr address = 0;
    CHECK(driver().cuMemAlloc(&address, 128 << 10) == CUDA_ERROR_OUT_OF_MEMORY);
    const OnDevice other(1);
    release(allocate(128 << 10));
}

TEST_CASE("an image for one compute capability does not load on a device of another") {
    start("devices=2; cc.1=8.6");
    const char *image = "cushim-sim-image 1\nkernel add params=8\ntarget cc=8.6\n";
    CUmodule module = nullptr;
    CHECK(driver().cuModuleLoadData(&module, image) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    const OnDevice other(1);
    destroy(load_module(image));
}

TEST_CASE("the setting peers names pairs that access each other in both directions") {
    start("devices=4; peers=1-0,2-3");
    for (CUdevice from = 0; from < 4; ++from) {
        for (CUdevice to = 0; to < 4; ++to) {
            INFO(from << " to " << to);
            CHECK(can_access(from, to) == (from != to && from / 2 == to / 2));
        }
    }
}

TEST_CASE("CUDA_VISIBLE_DEVICES selects and orders the devices") {
    CHECK(visible("2,0", 3) == std::vector{2, 0});
    CHECK(visible(" 1 , 2 ", 3) == std::vector{1, 2});
    CHECK(visible("0,2,-1,1", 3) == std::vector{0, 2});
    CHECK(visible("0,7,1", 3) == std::vector{0});
    CHECK(visible("1,x,2", 3) == std::vector{1});
    CHECK(visible("1gpu,2", 3) == std::vector{1, 2});
    CHECK(visible("4294967297,+2", 3) == std::vector{1, 2});
    CHECK(visible("-1", 3).empty());
    CHECK(visible("NoDevFiles", 3).empty());
#ifndef _WIN32 // an empty variable is unset there
    CHECK(visible("", 3).empty());
#endif
    start("devices=3");
    CHECK(got<int>(&Driver::cuDeviceGetCount, out) == 3);
}

TEST_CASE("CUDA_VISIBLE_DEVICES accepts unambiguous prefixes of UUIDs") {
    const std::string all = "GPU-63757368-696d-2d73-696d-2d6770752d0";
    CHECK(visible(all + "2," + all + "0", 3) == std::vector{2, 0});
    CHECK(visible("GPU-6375", 1) == std::vector{0});
    CHECK(visible("GPU-6375", 2).empty());            // ambiguous
    CHECK(visible(all + "1,0", 3) == std::vector{1}); // UUIDs and indices do not mix
    CHECK(visible("0," + all + "1", 3) == std::vector{0});
    CHECK(visible(all + "9", 3).empty());
    CHECK(visible("MIG-63757368", 3).empty()); // ambiguous
    CHECK(visible("GPU-", 1).empty());
    CHECK(visible("GPU-63757X", 1).empty());
    // Digits in capitals, and characters after the last digit.
    CHECK(visible("GPU-63757368-696D-2D73-696D-2D6770752D01", 3) == std::vector{1});
    CHECK(visible(all + "1x/0", 3) == std::vector{1});
    CHECK(visible(" " + all + "1", 3).empty());
    CHECK(visible(all + "1, " + all + "1", 3) == std::vector{1}); // the space ends the list
    CHECK(visible("MIG-63757368-696d-2d73-696d-2d6770752d01", 3) == std::vector{1});
    CHECK(visible("MIG-" + all + "1/0/0", 3).empty());
}

TEST_CASE("cuInit fails with 101 if CUDA_VISIBLE_DEVICES names a device twice") {
    const std::string first = "GPU-63757368-696d-2d73-696d-2d6770752d00";
    for (const std::string &list :
         {std::string("0,0"), std::string("0,1,0"), first + "," + first}) {
        INFO(list);
        CHECK(visible(list, 3, CUDA_ERROR_INVALID_DEVICE).empty());
    }
    CHECK(visible("0,7,0", 3) == std::vector{0}); // after the end of the list
}

TEST_CASE("a device keeps its UUID, bus id and settings under CUDA_VISIBLE_DEVICES") {
    start("devices=3");
    const std::string first = uuid_of(0), third = uuid_of(2);
    char bus[16] = "";
    require_ok(driver().cuDeviceGetPCIBusId(bus, sizeof bus, 2));
    const VisibleDevices variable("2,0");
    start("devices=3; peers=0-1; memory.2=3GiB");
    CHECK(uuid_of(0) == third);
    CHECK(uuid_of(1) == first);
    CHECK(memory_of(0) == std::size_t(3) << 30);
    CHECK_FALSE(can_access(0, 1));
    CUdevice device = -1;
    CHECK(got(driver().cuDeviceGetByPCIBusId(&device, bus), device) == 0);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0) == 2);
    CHECK(driver().cuDeviceGetByPCIBusId(&device, "0000:01:06.0") == CUDA_ERROR_INVALID_DEVICE);
}
