// Memory of the runtime: device, pitched, host, managed, pools; pointer attributes; memsets.
#include "handles.hpp"

using namespace sim_test;

namespace {

const unsigned char *bytes(void *memory, std::size_t size) {
    return static_cast<const unsigned char *>(
        sim_control().view(reinterpret_cast<std::uint64_t>(memory), size));
}

bool filled(void *memory, std::size_t size, unsigned char with) {
    const unsigned char *found = bytes(memory, size);
    return found != nullptr && std::vector<unsigned char>(found, found + size) ==
                                   std::vector<unsigned char>(size, with);
}

cudaPointerAttributes attributes(const void *pointer) {
    return got<cudaPointerAttributes>(&Runtime::cudaPointerGetAttributes, out, pointer);
}

} // namespace

TEST_CASE("pitched memory is set by rows") {
    void *memory = nullptr;
    std::size_t pitch = 0;
    CHECK(got(runtime().cudaMallocPitch(&memory, &pitch, 100, 3), pitch) >= 100);
    CHECK(pitch % 32 == 0);
    ok(runtime().cudaMemset(memory, 0, 2 * pitch + 100));
    ok(runtime().cudaMemset2D(memory, pitch, 0x5a, 100, 3));
    const unsigned char *found = bytes(memory, 2 * pitch + 100);
    REQUIRE(found != nullptr);
    CHECK(found[0] == 0x5a);
    CHECK(found[99] == 0x5a);
    CHECK(found[pitch + 99] == 0x5a);
    CHECK(found[2 * pitch + 99] == 0x5a);
    CHECK(found[100] == 0);                               // between the rows
    ok(runtime().cudaMemset2D(memory, 50, 0x77, 100, 1)); // one row needs no pitch
    CHECK(found[99] == 0x77);
    ok(runtime().cudaMemset3D({memory, 4, 4, 4}, 0x11, {8, 1, 1}));
    CHECK(found[7] == 0x11);
    ok(runtime().cudaFree(memory));
}

TEST_CASE("memory of three dimensions is set within the extent") {
    cudaPitchedPtr memory{};
    const cudaExtent extent{40, 5, 4};
    CHECK(got(runtime().cudaMalloc3D(&memory, extent), memory).xsize == 40);
    CHECK(memory.ysize == 5);
    CHECK(memory.pitch >= 40);
    ok(runtime().cudaMemset(memory.ptr, 0, memory.pitch * 20));
    ok(runtime().cudaMemset3D(memory, 3, {40, 2, 4}));
    const unsigned char *found = bytes(memory.ptr, memory.pitch * 20 - memory.pitch + 40);
    REQUIRE(found != nullptr);
    for (std::size_t z = 0; z < 4; ++z) {
        CHECK(found[(z * 5 + 1) * memory.pitch + 39] == 3);
        CHECK(found[(z * 5 + 2) * memory.pitch] == 0); // outside of the extent
    }
    ok(runtime().cudaFree(memory.ptr));
}

TEST_CASE("cudaMemset uses the low byte of its value") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeMemory memory(1000);
    ok(runtime().cudaMemset(memory, 0x1234, 1000));
    ok(runtime().cudaDeviceSynchronize());
    CHECK(filled(memory, 1000, 0x34));
    const RuntimeStream stream;
    ok(runtime().cudaMemsetAsync(memory, -1, 1000, stream));
    ok(runtime().cudaStreamSynchronize(stream));
    CHECK(filled(memory, 1000, 0xff));
    ok(runtime().cudaMemset2DAsync(memory, 100, 1, 100, 10, stream));
    ok(runtime().cudaMemset3DAsync({memory, 10, 10, 10}, 2, {10, 10, 10}, stream));
    ok(runtime().cudaStreamSynchronize(stream));
    CHECK(filled(memory, 1000, 2));
}

TEST_CASE("memory of another device has a device pointer only with peer access") {
    start("devices=2");
    require_ok(runtime().cudaSetDevice(1));
    const RuntimeMemory memory(4096);
    char *const inside = static_cast<char *>(memory.get()) + 100;
    require_ok(runtime().cudaSetDevice(0));
    const auto found = attributes(inside);
    CHECK(found.type == cudaMemoryTypeDevice);
    CHECK(found.device == 1);
    CHECK(found.devicePointer == nullptr);
    require_ok(runtime().cudaDeviceEnablePeerAccess(1, 0));
    CHECK(attributes(inside).devicePointer == inside);
    require_ok(runtime().cudaDeviceDisablePeerAccess(1));
}

TEST_CASE("memory of a pool is used until it is freed in its stream") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream stream;
    void *memory = nullptr;
    const cudaMemPoolProps props{.allocType = cudaMemAllocationTypePinned,
                                 .location = {cudaMemLocationTypeDevice, 0}};
    const auto pool = got<cudaMemPool_t>(&Runtime::cudaMemPoolCreate, out, &props);
    const auto used = [&] {
        ok(runtime().cudaStreamSynchronize(stream));
        return got<std::uint64_t>(&Runtime::cudaMemPoolGetAttribute, pool,
                                  cudaMemPoolAttrUsedMemCurrent, out);
    };
    ok(runtime().cudaMallocFromPoolAsync(&memory, 512, pool, stream));
    ok(runtime().cudaMemsetAsync(memory, 1, 512, stream));
    CHECK(used() >= 512);
    ok(runtime().cudaFreeAsync(memory, stream));
    CHECK(used() == 0);
    ok(runtime().cudaMemPoolDestroy(pool));
}
