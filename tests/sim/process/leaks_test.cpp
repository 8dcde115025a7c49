// What the leak report says of calls that make no object, and that nobody undid.
#include "../support/contains.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#ifndef _WIN32
#include <unistd.h>
#endif

using namespace sim_test;
using support::contains;

namespace {

const auto d = cushim::driver();

// The only leak there is, or "".
std::string leak() {
    const auto lines = leaks();
    CHECK(lines.size() <= 1);
    return lines.empty() ? "" : lines.front();
}

} // namespace

TEST_CASE("every retain of a primary context is told until it is released", "[leaks]") {
    start("devices=2");
    CUcontext context = nullptr;
    REQUIRE(d.cuDevicePrimaryCtxRetain(&context, 1) == CUDA_SUCCESS);
    CHECK(contains(leak(),
                   "primary context of device 1 retained by cuDevicePrimaryCtxRetain in call "));
    REQUIRE(d.cuDevicePrimaryCtxRetain(&context, 1) == CUDA_SUCCESS);
    const auto two = leaks();
    REQUIRE(two.size() == 2);
    CHECK(two[0] != two[1]); // another call
    CHECK(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    CHECK(leak() == two[0]);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    CHECK(leak().empty());
}

TEST_CASE("retains of a primary context that was reset hold nothing", "[leaks]") {
    start("devices=2");
    CUcontext context = nullptr;
    REQUIRE(d.cuDevicePrimaryCtxRetain(&context, 1) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxReset(1) == CUDA_SUCCESS);
    CHECK(leak().empty());
}

TEST_CASE("what the runtime retains for itself is no leak", "[leaks]") {
    sim_control().reset();
    REQUIRE(cushim::runtime().cudaFree(nullptr) == cudaSuccess);
    unsigned int flags = 0;
    int active = 0;
    REQUIRE(d.cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS);
    CHECK(active == 1);
    CHECK(leak().empty());
}

TEST_CASE("a pushed context is told until it is popped", "[leaks]") {
    start();
    CUcontext context = nullptr, popped = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxPushCurrent(context) == CUDA_SUCCESS);
    CHECK(contains(leak(), "of device 0 pushed by cuCtxPushCurrent"));
    CHECK(d.cuCtxSetCurrent(context) == CUDA_SUCCESS); // in its place
    CHECK(contains(leak(), "pushed by cuCtxPushCurrent"));
    CHECK(d.cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
    CHECK(leak().empty());
    REQUIRE(d.cuCtxPushCurrent(context) == CUDA_SUCCESS);
    CHECK(d.cuCtxSetCurrent(nullptr) == CUDA_SUCCESS); // which pops it
    CHECK(leak().empty());
}

TEST_CASE("a context that ends is pushed no more", "[leaks]") {
    start();
    CUcontext context = nullptr, popped = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxPushCurrent(context) == CUDA_SUCCESS);
    CHECK(leaks().size() == 2); // and the context itself
    CHECK(d.cuCtxDestroy(context) == CUDA_SUCCESS);
    CHECK(leak().empty());
    // What comes to be current in its place was not pushed.
    REQUIRE(d.cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    CHECK(contains(leak(), "context"));
    CHECK(d.cuCtxDestroy(context) == CUDA_SUCCESS);
}

TEST_CASE("peer access is told until it is disabled, or a context ends", "[leaks]") {
    start("devices=2");
    CUcontext other = nullptr;
    REQUIRE(d.cuDevicePrimaryCtxRetain(&other, 1) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxEnablePeerAccess(other, 0) == CUDA_SUCCESS);
    REQUIRE(leaks().size() == 2);
    CHECK(contains(leaks()[1], "of device 1 enabled by cuCtxEnablePeerAccess in call "));
    CHECK(d.cuCtxDisablePeerAccess(other) == CUDA_SUCCESS);
    CHECK(leaks().size() == 1);
    REQUIRE(d.cuCtxEnablePeerAccess(other, 0) == CUDA_SUCCESS);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    CHECK(leak().empty());
}

#ifndef _WIN32
TEST_CASE("an exported descriptor is told until it is closed", "[leaks]") {
    start();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle memory = 0;
    REQUIRE(d.cuMemCreate(&memory, 2 << 20, &properties, 0) == CUDA_SUCCESS);
    int descriptor = -1;
    REQUIRE(d.cuMemExportToShareableHandle(
                &descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuMemRelease(memory) == CUDA_SUCCESS);
    CHECK(contains(leak(), "open descriptor " + std::to_string(descriptor) +
                               " exported by cuMemExportToShareableHandle in call "));
    close(descriptor);
    CHECK(leak().empty());
    // Another file of that number is none of the simulator's.
    REQUIRE(dup2(0, descriptor) == descriptor);
    CHECK(leak().empty());
    close(descriptor);
}
#endif
