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
    cudaPointerAttributes found;
    REQUIRE(r.cudaPointerGetAttributes(&found, pointer) == cudaSuccess);
    return found;
}

} // namespace

TEST_CASE("arguments of runtime allocations and frees are checked") {
    start("budget=1MiB");
    void *memory = &memory;
    CHECK(got(r.cudaMalloc(&memory, 0), memory) == nullptr);
    memory = &memory;
    CHECK(got(r.cudaMallocManaged(&memory, 0, cudaMemAttachGlobal), memory) == nullptr);
    CHECK(r.cudaMallocManaged(nullptr, 0, cudaMemAttachGlobal) == cudaErrorInvalidValue);
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(r.cudaMalloc(nullptr, 0) == cudaErrorInvalidValue);
    CHECK(r.cudaMalloc(&memory, std::size_t(1) << 40) == cudaErrorMemoryAllocation);
    CHECK(r.cudaMalloc(&memory, ~std::size_t(0)) == cudaErrorMemoryAllocation);
    memory = allocate_by_runtime(4096);
    CHECK(r.cudaFree(memory) == cudaSuccess);
    CHECK(r.cudaFree(memory) == cudaErrorInvalidValue);
    expect_misuse("cuMemFree");
    int on_stack = 0;
    CHECK(r.cudaFree(&on_stack) == cudaErrorInvalidValue);
}

TEST_CASE("cudaMemGetInfo reports free and total memory") {
    start("memory=1GiB");
    std::size_t free = 0, total = 0, less = 0;
    CHECK(got(r.cudaMemGetInfo(&free, &total), total) == std::size_t(1) << 30);
    const RuntimeMemory memory(std::size_t(64) << 20);
    CHECK(free - got(r.cudaMemGetInfo(&less, &total), less) >= std::size_t(64) << 20);
}

TEST_CASE("pitched memory is set by rows") {
    void *memory = nullptr;
    std::size_t pitch = 0;
    CHECK(got(r.cudaMallocPitch(&memory, &pitch, 100, 3), pitch) >= 100);
    CHECK(pitch % 32 == 0);
    CHECK(r.cudaMemset(memory, 0, 2 * pitch + 100) == cudaSuccess);
    CHECK(r.cudaMemset2D(memory, pitch, 0x5a, 100, 3) == cudaSuccess);
    const unsigned char *found = bytes(memory, 2 * pitch + 100);
    REQUIRE(found != nullptr);
    CHECK(found[0] == 0x5a);
    CHECK(found[99] == 0x5a);
    CHECK(found[pitch + 99] == 0x5a);
    CHECK(found[2 * pitch + 99] == 0x5a);
    CHECK(found[100] == 0); // between the rows
    CHECK(r.cudaMemset2D(memory, 50, 0, 100, 3) == cudaErrorInvalidValue);
    CHECK(r.cudaMemset2D(memory, 50, 0x77, 100, 1) == cudaSuccess); // one row needs no pitch
    CHECK(found[99] == 0x77);
    CHECK(r.cudaMemset2D(memory, 50, 0, 100, 0) == cudaSuccess);
    CHECK(r.cudaMemset3D({memory, 4, 4, 4}, 0x11, {8, 1, 1}) == cudaSuccess);
    CHECK(found[7] == 0x11);
    CHECK(r.cudaMemset3D({memory, 4, 4, 2}, 0, {4, 4, 2}) == cudaErrorInvalidValue);
    CHECK(r.cudaFree(memory) == cudaSuccess);
    CHECK(got(r.cudaMallocPitch(&memory, &pitch, 0, 3), memory) == nullptr);
    CHECK(r.cudaMallocPitch(&memory, nullptr, 1, 1) == cudaErrorInvalidValue);
}

TEST_CASE("memory of three dimensions is set within the extent") {
    cudaPitchedPtr memory{};
    const cudaExtent extent{40, 5, 4};
    CHECK(got(r.cudaMalloc3D(&memory, extent), memory).xsize == 40);
    CHECK(memory.ysize == 5);
    CHECK(memory.pitch >= 40);
    CHECK(r.cudaMemset(memory.ptr, 0, memory.pitch * 20) == cudaSuccess);
    CHECK(r.cudaMemset3D(memory, 3, {40, 2, 4}) == cudaSuccess);
    const unsigned char *found = bytes(memory.ptr, memory.pitch * 20 - memory.pitch + 40);
    REQUIRE(found != nullptr);
    for (std::size_t z = 0; z < 4; ++z) {
        CHECK(found[(z * 5 + 1) * memory.pitch + 39] == 3);
        CHECK(found[(z * 5 + 2) * memory.pitch] == 0); // outside of the extent
    }
    CHECK(r.cudaMemset3D(memory, 0, {40, 6, 2}) == cudaErrorInvalidValue);
    CHECK(r.cudaFree(memory.ptr) == cudaSuccess);
    CHECK(r.cudaMalloc3D(&memory, {0, 5, 4}) == cudaSuccess);
    CHECK(memory.ptr == nullptr);
    CHECK(r.cudaMalloc3D(&memory, {1, ~std::size_t(0), 4}) == cudaErrorMemoryAllocation);
    CHECK(r.cudaMalloc3D(nullptr, extent) == cudaErrorInvalidValue);
}

TEST_CASE("cudaMemset uses the low byte of its value") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeMemory memory(1000);
    CHECK(r.cudaMemset(memory, 0x1234, 1000) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(filled(memory, 1000, 0x34));
    const RuntimeStream stream;
    CHECK(r.cudaMemsetAsync(memory, -1, 1000, stream) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(filled(memory, 1000, 0xff));
    CHECK(r.cudaMemset2DAsync(memory, 100, 1, 100, 10, stream) == cudaSuccess);
    CHECK(r.cudaMemset3DAsync({memory, 10, 10, 10}, 2, {10, 10, 10}, stream) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(filled(memory, 1000, 2));
    check_all(cudaErrorInvalidValue, {r.cudaMemset(memory, 0, 1001), r.cudaMemset(nullptr, 0, 1)});
}

TEST_CASE("host memory can be pinned and registered through the runtime") {
    void *pinned = nullptr;
    REQUIRE(r.cudaHostAlloc(&pinned, 4096, cudaHostAllocMapped | cudaHostAllocPortable) ==
            cudaSuccess);
    std::memset(pinned, 9, 4096);
    unsigned int flags = 0;
    CHECK(r.cudaHostGetFlags(&flags, pinned) == cudaSuccess);
    CHECK(flags == got<unsigned int>(&Driver::cuMemHostGetFlags, out, pinned));
    void *device = nullptr;
    CHECK(got(r.cudaHostGetDevicePointer(&device, pinned, 0), device) == pinned);
    CHECK(r.cudaHostGetDevicePointer(&device, pinned, 1) == cudaErrorInvalidValue);
    CHECK(r.cudaHostUnregister(pinned) == cudaErrorInvalidValue);
    expect_misuse("cuMemHostUnregister");
    CHECK(r.cudaFreeHost(pinned) == cudaSuccess);
    CHECK(r.cudaFreeHost(nullptr) == cudaSuccess);
    CHECK(r.cudaFreeHost(&flags) == cudaErrorInvalidValue);
    CHECK(r.cudaFreeHost(got(r.cudaMallocHost(&pinned, 16), pinned)) == cudaSuccess);

    std::vector<unsigned char> own(10000);
    CHECK(r.cudaHostRegister(own.data() + 3, 5000, cudaHostRegisterDefault) == cudaSuccess);
    CHECK(r.cudaHostRegister(own.data(), 10000, cudaHostRegisterDefault) ==
          cudaErrorHostMemoryAlreadyRegistered);
    CHECK(r.cudaHostUnregister(own.data() + 3) == cudaSuccess);
    CHECK(r.cudaHostUnregister(own.data() + 3) == cudaErrorHostMemoryNotRegistered);
}

TEST_CASE("pointer attributes report the kind and the device of memory") {
    start("devices=2");
    REQUIRE(r.cudaSetDevice(1) == cudaSuccess);
    void *memory = allocate_by_runtime(4096);
    REQUIRE(r.cudaSetDevice(0) == cudaSuccess);
    auto found = attributes(static_cast<char *>(memory) + 100);
    CHECK(found.type == cudaMemoryTypeDevice);
    CHECK(found.device == 1);
    CHECK(found.devicePointer == nullptr); // not accessible from the selected device
    CHECK(found.hostPointer == nullptr);
    REQUIRE(r.cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
    CHECK(attributes(static_cast<char *>(memory) + 100).devicePointer ==
          static_cast<char *>(memory) + 100);
    REQUIRE(r.cudaDeviceDisablePeerAccess(1) == cudaSuccess);
    CHECK(r.cudaFree(memory) == cudaSuccess);

    void *pinned = nullptr;
    REQUIRE(r.cudaMallocHost(&pinned, 64) == cudaSuccess);
    found = attributes(pinned);
    CHECK(found.type == cudaMemoryTypeHost);
    CHECK(found.device == 0);
    CHECK(found.devicePointer == pinned);
    CHECK(found.hostPointer == pinned);
    CHECK(r.cudaFreeHost(pinned) == cudaSuccess);

    void *managed = nullptr;
    REQUIRE(r.cudaMallocManaged(&managed, 64, cudaMemAttachGlobal) == cudaSuccess);
    found = attributes(managed);
    CHECK(found.type == cudaMemoryTypeManaged);
    CHECK(found.devicePointer == managed);
    CHECK(found.hostPointer == managed);
    CHECK(r.cudaFree(managed) == cudaSuccess);

    int on_stack = 0;
    found = attributes(&on_stack);
    CHECK(found.type == cudaMemoryTypeUnregistered);
    CHECK(found.device == -2);
    CHECK(found.devicePointer == nullptr);
    found = attributes(nullptr);
    CHECK(found.type == cudaMemoryTypeUnregistered);
    CHECK(r.cudaGetLastError() == cudaSuccess); // a query is not an error
    CHECK(r.cudaPointerGetAttributes(nullptr, &on_stack) == cudaErrorInvalidValue);
}

TEST_CASE("managed memory can be advised and prefetched through the runtime") {
    void *managed = nullptr;
    REQUIRE(r.cudaMallocManaged(&managed, 8192, cudaMemAttachGlobal) == cudaSuccess);
    std::memset(managed, 1, 8192); // accessible to the host
#if CUDART_VERSION >= 13000
    const cudaMemLocation device{cudaMemLocationTypeDevice, 0};
    CHECK(r.cudaMemAdvise(managed, 8192, cudaMemAdviseSetReadMostly, device) == cudaSuccess);
    CHECK(r.cudaMemPrefetchAsync(managed, 8192, device, 0, nullptr) == cudaSuccess);
#else
    CHECK(r.cudaMemAdvise(managed, 8192, cudaMemAdviseSetReadMostly, 0) == cudaSuccess);
    CHECK(r.cudaMemPrefetchAsync(managed, 8192, 0, nullptr) == cudaSuccess);
#endif
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    int read_mostly = 0;
    CHECK(r.cudaMemRangeGetAttribute(&read_mostly, sizeof read_mostly,
                                     cudaMemRangeAttributeReadMostly, managed,
                                     8192) == cudaSuccess);
    CHECK(read_mostly == 1);
    CHECK(r.cudaFree(managed) == cudaSuccess);
    CHECK(r.cudaMallocManaged(&managed, 64, 0) == cudaErrorInvalidValue);
    CHECK(r.cudaMallocManaged(nullptr, 64, cudaMemAttachGlobal) == cudaErrorInvalidValue);
}

TEST_CASE("memory and pools in stream order work through the runtime") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream stream;
    void *memory = nullptr;
    CHECK(r.cudaMallocAsync(&memory, 256, stream) == cudaSuccess);
    CHECK(r.cudaMemsetAsync(memory, 1, 256, stream) == cudaSuccess);
    CHECK(r.cudaFreeAsync(memory, stream) == cudaSuccess);
    cudaMemPoolProps props{.allocType = cudaMemAllocationTypePinned,
                           .location = {cudaMemLocationTypeDevice, 0}};
    cudaMemPool_t pool = nullptr, current = nullptr, own = nullptr;
    REQUIRE(r.cudaMemPoolCreate(&pool, &props) == cudaSuccess);
    CHECK(r.cudaMallocFromPoolAsync(&memory, 512, pool, stream) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(got<std::uint64_t>(&Runtime::cudaMemPoolGetAttribute, pool, cudaMemPoolAttrUsedMemCurrent,
                             out) >= 512);
    CHECK(r.cudaFreeAsync(memory, stream) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    std::uint64_t threshold = 1 << 20;
    CHECK(r.cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) ==
          cudaSuccess);
    CHECK(r.cudaMemPoolTrimTo(pool, 0) == cudaSuccess);
    CHECK(r.cudaDeviceGetDefaultMemPool(&own, 0) == cudaSuccess);
    CHECK(r.cudaDeviceSetMemPool(0, pool) == cudaSuccess);
    CHECK(got(r.cudaDeviceGetMemPool(&current, 0), current) == pool);
    CHECK(r.cudaDeviceSetMemPool(0, own) == cudaSuccess);
    CHECK(r.cudaMemPoolDestroy(pool) == cudaSuccess);
    CHECK(r.cudaDeviceGetMemPool(&current, 5) == cudaErrorInvalidValue);
    CHECK(r.cudaDeviceSetMemPool(5, own) == cudaErrorInvalidValue);
    CHECK(r.cudaDeviceGetDefaultMemPool(&current, 5) == cudaErrorInvalidDevice);
}
