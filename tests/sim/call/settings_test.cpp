// The simulator's settings: devices, their properties, versions.
#include "../support/contains.hpp"
#include "handles.hpp"

#include <sstream>

using namespace sim_test;
using support::contains;

namespace {

int attribute(CUdevice_attribute which) {
    return got<int>(&Driver::cuDeviceGetAttribute, out, which, 0);
}

} // namespace

TEST_CASE("without settings there is one device like the recorded one") {
    CHECK(got<int>(&Driver::cuDeviceGetCount, out) == 1);
    CHECK(name_of(0) == "cushim simulated GPU");
    CHECK(got<std::size_t>(&Driver::cuDeviceTotalMem, out, 0) == std::size_t(8) << 30);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 9);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE) == 32);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == 132);
    CHECK(got<int>(&Driver::cuDriverGetVersion, out) == CUDA_VERSION);
}

TEST_CASE("cuInit fails with devices=0 and with the setting init=STATUS", "[fresh]") {
    configure("devices=0");
    CHECK(driver().cuInit(0) == CUDA_ERROR_NO_DEVICE);
    configure("devices=1;init=803");
    CHECK(driver().cuInit(0) == static_cast<CUresult>(803));
    int count = 0;
    CHECK(driver().cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    configure("init=0");
    ok(driver().cuInit(0));
}

TEST_CASE("after a reset, the first call that needs cuInit calls it with the settings since") {
    sim_control().reset();
    configure("devices=3");
    CHECK(got<int>(&Driver::cuDeviceGetCount, out) == 3);
    sim_control().reset();
    configure("devices=0");
    int count = 0;
    CHECK(driver().cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(driver().cuInit(0) == CUDA_ERROR_NO_DEVICE);
    start();
}

TEST_CASE("an older driver version rejects newer device attributes") {
    start("driver=11040");
    CHECK(got<int>(&Driver::cuDriverGetVersion, out) == 11040);
    auto value =
        got<int>(&Driver::cuDeviceGetAttribute, out, static_cast<CUdevice_attribute>(119), 0);
    CHECK(driver().cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(129), 0) ==
          invalid);
}

TEST_CASE("settings that are not understood are rejected and quoted", "[fresh]") {
    std::istringstream all(
        "devices=17 devices=-1 devices=two colour=red mode mode=fast memory=5XB "
        "memory=99999999999999999999 cc=9 peers=some log=2 attribute.x=1 attribute.1=many "
        "attribute.16.1=1 attribute.0.x=1 attribute=1 name.16=x name.x=x name.0= memory.0=0 "
        "memory.1=lots budget.0.1=1 cc.0=9 peers=0-0 peers=0 peers=0-1-2 peers=0-16 "
        "peers=0-1, peers.0=all granularity=0 granularity=5 memory=0 driver=-1 driver=twelve "
        "init=-1 report=maybe seed= ");
    for (std::string wrong; all >> wrong;) {
        INFO(wrong);
        CHECK(sim_control().configure(wrong.c_str()) == -1);
        CHECK(std::string(sim_control().problem()).find(wrong) != std::string::npos);
    }
    // The rejected settings have changed nothing.
    CHECK(sim_control().configure("devices=2") == 0);
    require_ok(driver().cuInit(0));
    CHECK(got<int>(&Driver::cuDeviceCanAccessPeer, out, 0, 1) == 1);
    CHECK(got<std::size_t>(&Driver::cuDeviceTotalMem, out, 0) == std::size_t(8) << 30);
    CHECK(sim_control().configure(nullptr) == -1);
    CHECK(sim_control().configure("") == 0);
    CHECK(std::string(sim_control().problem()).empty());
    CHECK(sim_control().configure(" ; devices = 2 ;; ") == 0);
}

TEST_CASE("the message for a setting that is not understood says what is expected", "[fresh]") {
    const std::pair<const char *, const char *> all[] = {
        {"mode=fast", "'mode=fast', expected immediate, threaded or adversarial"},
        {"devices=17", "'devices=17', expected 0 to 16"},
        {"memory.1=lots", "'memory.1=lots', expected a size above 0"},
        {"name.16=A", "'name.16=A', expected a text, for a device from 0 to 15"},
        {"mode.x=threaded", "'mode.x=threaded'; the settings are devices,"},
        {"colour=red", "'colour=red'; the settings are devices, name, memory,"},
        {"mode", "'mode', expected immediate"},
        {"fault=cudaMallocc:1:2", "'fault=cudaMallocc:1:2' names no entry point"},
        {"fault=cuMemAlloc", "'fault=cuMemAlloc', expected ENTRY:NTH:CODE"}};
    for (const auto &[setting, message] : all) {
        CHECK(sim_control().configure(setting) == -1);
        CHECK(contains(sim_control().problem(), message));
    }
    configure("");
}

TEST_CASE("the setting peers=none forbids peer access") {
    start("devices=2;peers=none");
    CHECK(got<int>(&Driver::cuDeviceCanAccessPeer, out, 0, 1) == 0);
    CHECK(driver().cuCtxEnablePeerAccess(PrimaryContext(1), 0) ==
          CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

TEST_CASE("cuInit fails after settings that are not understood", "[fresh]") {
    CHECK(sim_control().configure("mode=adverserial") == -1);
    CHECK(driver().cuInit(0) == CUDA_ERROR_UNKNOWN);
    int count = 0;
    CHECK(driver().cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    configure("mode=adversarial");
    ok(driver().cuInit(0));
}
