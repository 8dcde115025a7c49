// Kernels with pointers to memory that was freed or that their device cannot access.
#include "capture_tools.hpp"
#include "images.hpp"
#include "launch_tools.hpp"
#include "memory_kinds.hpp"
#include "pool_tools.hpp"

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
    ok(launch_with_pointer(module.function("take"), address));
    ok(driver().cuCtxSynchronize());
    expect_misuse("kernel take runs with the address of memory that was freed: device memory");
    ok(launch_with_pointer(module.function("take"), address + 63));
    ok(reported(driver().cuCtxSynchronize(), "at offset 63"));
}

TEST_CASE("a kernel that uses memory at address 0 is reported") {
    start(GENERATE(from_range(all_modes())));
    const LoadedModule module(image);
    sim_control().register_kernel(
        "take",
        [](const cushim_sim_launch *launch, void *) {
            const auto address = argument<std::uint64_t>(*launch, 0);
            CHECK(sim_control().view(address, 0) == nullptr); // 0 bytes are not a use
            return sim_control().view(address, 16) == nullptr ? 0 : 1;
        },
        nullptr);
    ok(launch_with_pointer(module.function("take"), 0));
    ok(reported(driver().cuCtxSynchronize(), "kernel take uses 16 bytes at address 0"));
    CHECK(misuses().size() == 1);
}

TEST_CASE("a kernel that uses bytes past the end of an allocation is reported") {
    start(GENERATE(from_range(all_modes())));
    const LoadedModule module(image);
    sim_control().register_kernel(
        "take",
        [](const cushim_sim_launch *launch, void *) {
            const auto address = argument<std::uint64_t>(*launch, 0);
            CHECK(sim_control().view(address, 64) != nullptr);
            CHECK(sim_control().view(address + 60, 4) != nullptr);
            return sim_control().view(address + 60, 5) == nullptr ? 0 : 1;
        },
        nullptr);
    const DeviceMemory memory(64);
    ok(launch_with_pointer(module.function("take"), memory));
    ok(reported(driver().cuCtxSynchronize(), "kernel take uses 1 byte past the end of device"));
    CHECK(misuses().size() == 1);
    CHECK(sim_control().view(memory, 65) == nullptr); // not a misuse outside of kernels
    CHECK(misuses().size() == 1);
}

TEST_CASE("a graph launch with a kernel whose memory was freed is reported") {
    const LoadedModule module(image);
    const CUdeviceptr address = allocate(64);
    const Stream stream;
    require_ok(begin_capture(stream));
    ok(launch_with_pointer(module.function("take"), address, stream));
    const Graph graph(end_capture(stream));
    const Executable exec(graph);
    run(exec, stream);
    release(address);
    CHECK(misuses().empty());
    run(exec, stream);
    expect_misuse("kernel take runs with the address of memory that was freed");
}

TEST_CASE("memory freed before its kernel runs is reported once") {
    start("mode=adversarial;seed=1");
    const LoadedModule module(image);
    const CUdeviceptr address = allocate(64);
    ok(launch_with_pointer(module.function("take"), address + 32));
    release(address);
    expect_misuse("is released while 1 enqueued operation needs it");
    ok(driver().cuCtxSynchronize());
}

TEST_CASE("kernel arguments that are not addresses, and structures, are not reported") {
    const LoadedModule module(image);
    const CUdeviceptr address = allocate(64);
    for (const CUdeviceptr number : {CUdeviceptr(0), CUdeviceptr(1), ~CUdeviceptr(0), address,
                                     address + 63, address + 64 /* the end */}) {
        ok(launch_with_pointer(module.function("take"), number));
    }
    release(address);
    std::uint64_t structure[2] = {address, 0};
    void *parameters[] = {structure};
    ok(launch(module.function("take_structure"), {1, 1, 1}, {1, 1, 1}, 0, nullptr, parameters));
    ok(driver().cuCtxSynchronize());
    CHECK(misuses().empty());
}

TEST_CASE("a kernel needs peer access to memory of another device") {
    start("devices=2");
    bool viewed = true;
    sim_control().register_kernel("take", note_view, &viewed);
    const LoadedModule module(image);
    const CUfunction take = module.function("take");
    const MemoryElsewhere there(64);
    ok(launch_with_pointer(take, there));
    expect_misuse("kernel take runs on device 0 with memory of device 1, which it cannot access");
    CHECK_FALSE(viewed);
    CHECK(sim_control().view(there, 16) != nullptr); // not limited outside of kernels
    require_ok(driver().cuCtxEnablePeerAccess(there.context(), 0));
    ok(launch_with_pointer(take, there));
    CHECK(viewed);
    require_ok(driver().cuCtxDisablePeerAccess(there.context()));
}

TEST_CASE("a kernel may use managed and pinned memory of any device, pool memory needs access") {
    start("devices=2");
    const ManagedMemory managed(64);
    const PinnedMemory pinned(64);
    const PoolMemory pool(64);
    synchronize();
    const OnDevice other(1);
    const LoadedModule module(image);
    const CUfunction take = module.function("take");
    ok(launch_with_pointer(take, managed));
    ok(launch_with_pointer(take, as_device(pinned)));
    ok(driver().cuCtxSynchronize());
    CHECK(misuses().empty());
    ok(launch_with_pointer(take, pool));
    expect_misuse("kernel take runs on device 1 with memory of device 0");
    const auto access = grant(1);
    require_ok(driver().cuMemPoolSetAccess(default_pool(0), &access, 1));
    ok(launch_with_pointer(take, pool));
    CHECK(misuses().size() == 1);
}
