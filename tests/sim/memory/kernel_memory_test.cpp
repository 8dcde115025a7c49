// Kernels that run with pointers to memory that is gone, or that their device cannot access.
#include "images.hpp"
#include "launch_tools.hpp"
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

constexpr char image[] = R"(cushim-sim-image 1
kernel take params=8
kernel take_structure params=16:8
)";

} // namespace

TEST_CASE("a kernel that runs with a freed pointer is reported") {
    start(GENERATE(from_range(all_modes())));
    const LoadedModule module(image);
    const CUdeviceptr address = allocate(64);
    release(address);
    CHECK(launch_with_pointer(module.function("take"), address) == good);
    CHECK(d.cuCtxSynchronize() == good);
    expect_misuse("kernel take runs with the address of memory that was freed: device memory");
    CHECK(launch_with_pointer(module.function("take"), address + 63) == good);
    CHECK(d.cuCtxSynchronize() == good);
    expect_misuse("at offset 63");
}

TEST_CASE("a kernel that uses memory at address 0 is reported") {
    start(GENERATE(from_range(all_modes())));
    const LoadedModule module(image);
    sim_control().register_kernel(
        "take",
        [](const cushim_sim_launch *launch, void *) {
            const auto address = argument<std::uint64_t>(*launch, 0);
            CHECK(sim_control().view(address, 0) == nullptr); // nothing is used
            return sim_control().view(address, 16) == nullptr ? 0 : 1;
        },
        nullptr);
    CHECK(launch_with_pointer(module.function("take"), 0) == good);
    CHECK(d.cuCtxSynchronize() == good);
    expect_misuse("kernel take uses 16 bytes at address 0");
    CHECK(misuses().size() == 1);
}

TEST_CASE("a graph whose kernel's memory is freed is reported when it runs") {
    start();
    const LoadedModule module(image);
    const CUdeviceptr address = allocate(64);
    Stream stream;
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == good);
    CHECK(launch_with_pointer(module.function("take"), address, stream) == good);
    CUgraph graph = nullptr;
    REQUIRE(d.cuStreamEndCapture(stream, &graph) == good);
    const Executable exec(graph);
    CHECK(d.cuGraphLaunch(exec, stream) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    release(address);
    CHECK(misuses().empty());
    CHECK(d.cuGraphLaunch(exec, stream) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    expect_misuse("kernel take runs with the address of memory that was freed");
    CHECK(d.cuGraphDestroy(graph) == good);
}

TEST_CASE("memory that is freed while the kernel is queued is reported once") {
    start("mode=adversarial;seed=1");
    const LoadedModule module(image);
    const CUdeviceptr address = allocate(64);
    CHECK(launch_with_pointer(module.function("take"), address) == good);
    release(address);
    expect_misuse("is freed while 1 enqueued operation needs it");
    CHECK(d.cuCtxSynchronize() == good);
}

TEST_CASE("numbers that are no addresses, and structures, are left alone") {
    start();
    const LoadedModule module(image);
    const CUdeviceptr address = allocate(64);
    for (const CUdeviceptr number : {CUdeviceptr(0), CUdeviceptr(1), ~CUdeviceptr(0), address,
                                     address + 63, address + 64 /* the end */}) {
        CHECK(launch_with_pointer(module.function("take"), number) == good);
    }
    release(address);
    std::uint64_t structure[2] = {address, 0};
    void *parameters[] = {structure};
    CHECK(launch(module.function("take_structure"), {1, 1, 1}, {1, 1, 1}, 0, nullptr, parameters) ==
          good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(misuses().empty());
}

TEST_CASE("a kernel needs peer access to another device's memory") {
    start("devices=2");
    bool viewed = true;
    sim_control().register_kernel("take", note_view, &viewed);
    const LoadedModule module(image);
    const CUfunction take = module.function("take");
    CUcontext own = current();
    const OnDevice other(1);
    const DeviceMemory there(64);
    REQUIRE(d.cuCtxPushCurrent(own) == good);
    CHECK(launch_with_pointer(take, there) == good);
    expect_misuse("kernel take runs on device 0 with memory of device 1, which it cannot access");
    CHECK_FALSE(viewed);
    CHECK(sim_control().view(there, 16) != nullptr); // outside of kernels
    REQUIRE(d.cuCtxEnablePeerAccess(other.context, 0) == good);
    CHECK(launch_with_pointer(take, there) == good);
    CHECK(viewed);
    REQUIRE(d.cuCtxDisablePeerAccess(other.context) == good);
    REQUIRE(d.cuCtxPopCurrent(&own) == good);
}

TEST_CASE("every device may be given managed and pinned memory") {
    start("devices=2;peers=none");
    const ManagedMemory managed(64);
    const PinnedMemory pinned(64);
    {
        const OnDevice other(1);
        const LoadedModule module(image);
        CHECK(launch_with_pointer(module.function("take"), managed) == good);
        CHECK(launch_with_pointer(module.function("take"), as_device(pinned)) == good);
        CHECK(d.cuCtxSynchronize() == good);
    }
    CHECK(misuses().empty());
}

TEST_CASE("a pool's memory is for the devices that it lets in") {
    start("devices=2");
    const CUmemoryPool pool = default_pool(0);
    CUdeviceptr memory = 0;
    REQUIRE(d.cuMemAllocAsync(&memory, 64, nullptr) == good);
    REQUIRE(d.cuCtxSynchronize() == good);
    {
        const OnDevice other(1);
        const LoadedModule module(image);
        CHECK(launch_with_pointer(module.function("take"), memory) == good);
        expect_misuse("kernel take runs on device 1 with memory of device 0");
        CUmemAccessDesc access{};
        access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        access.location.id = 1;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        REQUIRE(d.cuMemPoolSetAccess(pool, &access, 1) == good);
        CHECK(launch_with_pointer(module.function("take"), memory) == good);
        CHECK(misuses().size() == 1);
    }
    REQUIRE(d.cuMemFreeAsync(memory, nullptr) == good);
    REQUIRE(d.cuCtxSynchronize() == good);
}
