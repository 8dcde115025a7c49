// Managed memory.
#include "capture_tools.hpp"
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

// These calls have two forms, depending on the CUDA version.
#if CUDA_VERSION >= 13000
CUmemLocation place(int device) {
    return {device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
            device == CU_DEVICE_CPU ? 0 : device};
}
#else
int place(int device) {
    return device;
}
#endif

CUresult advise(CUdeviceptr address, std::size_t size, int advice, int device = 0) {
    return d.cuMemAdvise(address, size, static_cast<CUmem_advise>(advice), place(device));
}

CUresult prefetch(CUdeviceptr address, std::size_t size, int device, CUstream stream) {
#if CUDA_VERSION >= 13000
    return d.cuMemPrefetchAsync(address, size, place(device), 0, stream);
#else
    return d.cuMemPrefetchAsync(address, size, device, stream);
#endif
}

int attribute(CUdeviceptr address, std::size_t size, int which) {
    int value = 0x5a;
    REQUIRE(d.cuMemRangeGetAttribute(&value, sizeof value,
                                     static_cast<CUmem_range_attribute>(which), address,
                                     size) == good);
    return value;
}

constexpr int read_mostly = 1, preferred = 2, accessed_by = 3, last_prefetch = 4;

} // namespace

TEST_CASE("arguments of managed allocations are checked") {
    start("memory=1GiB");
    CUdeviceptr address = 0;
    const Calls allocate(&Driver::cuMemAllocManaged);
    allocate[invalid] = {{&address, 0, 1},  {&address, 16, 0}, {&address, 16, 3},
                         {&address, 16, 4}, {&address, 16, 8}, {nullptr, 16, 1}};
    allocate[CUDA_ERROR_OUT_OF_MEMORY] = {{&address, std::size_t(1) << 60, 1}};
    for (const unsigned int flags : {CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST}) {
        CHECK(d.cuMemAllocManaged(&address, 16, flags) == good);
        release(address);
    }
    // It may exceed the memory of the device.
    const ManagedMemory big(2 * GiB);
    static_cast<unsigned char *>(as_host(big))[2 * GiB - 1] = 1;
    CHECK(free_memory() == GiB);
    const WithoutContext none;
    CHECK(d.cuMemAllocManaged(&address, 64, 1) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("managed memory is accessible to host and device at the same address") {
    start(GENERATE_COPY(from_range(all_modes())));
    const ManagedMemory managed(1000);
    const DeviceMemory device(1000);
    auto *host = static_cast<unsigned char *>(as_host(managed));
    const Bytes bytes = pattern(1000, 1);
    std::memcpy(host, bytes.data(), bytes.size());
    CHECK(d.cuMemcpyDtoD(device, managed, 1000) == good);
    synchronize();
    CHECK((contents(device, 1000) == bytes));
    CHECK(d.cuMemsetD8(managed, 3, 1000) == good);
    CHECK(host[999] == 3);
    CHECK(sim_control().view(managed, 1000) == host);
}

TEST_CASE("arguments of memory advice are checked") {
    const ManagedMemory managed(MiB);
    const DeviceMemory device(MiB);
    const PinnedMemory pinned(4096);
    for (const int advice : {1, 2, 3, 4, 5, 6}) {
        CHECK(advise(managed, MiB, advice) == good);
        CHECK(advise(managed, MiB, advice, CU_DEVICE_CPU) == good);
    }
    const Calls refused(advise);
    refused[invalid] = {{managed, MiB, 0, 0},
                        {managed, MiB, 7, 0},
                        {managed, MiB, 99, 0},
                        {managed, 4096, preferred + 1, 77},
                        {device, 4096, 1, 0},
                        {as_device(pinned), 4096, 1, 0},
                        {as_device(&managed), 4096, 1, 0},
                        {managed, 2 * MiB, 1, 0},
                        {managed, 0, 1, 0},
                        {0, 4096, 1, 0}};
    const WithoutContext none;
    CHECK(advise(managed, 4096, 1) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("a range has an attribute value only if all its pages have it") {
    start("devices=2");
    const ManagedMemory managed(MiB);
    CHECK(attribute(managed, MiB, read_mostly) == 0);
    CHECK(attribute(managed, MiB, preferred) == CU_DEVICE_INVALID);
    CHECK(attribute(managed, MiB, last_prefetch) == CU_DEVICE_INVALID);
    REQUIRE(advise(managed + 4096, 8192, 1) == good);
    CHECK(attribute(managed + 4096, 8192, read_mostly) == 1);
    CHECK(attribute(managed + 8192, 4096, read_mostly) == 1);
    CHECK(attribute(managed, 8192, read_mostly) == 0);
    CHECK(attribute(managed, MiB, read_mostly) == 0);
    REQUIRE(advise(managed, MiB, 2) == good);
    CHECK(attribute(managed + 4096, 8192, read_mostly) == 0);
    REQUIRE(advise(managed, MiB, 3, 1) == good);
    CHECK(attribute(managed, MiB, preferred) == 1);
    REQUIRE(advise(managed, 4096, 3, CU_DEVICE_CPU) == good);
    CHECK(attribute(managed, 4096, preferred) == CU_DEVICE_CPU);
    CHECK(attribute(managed, MiB, preferred) == CU_DEVICE_INVALID);
    REQUIRE(advise(managed, MiB, 4) == good);
    CHECK(attribute(managed, MiB, preferred) == CU_DEVICE_INVALID);
    REQUIRE(advise(managed, MiB, 5, 0) == good);
    REQUIRE(advise(managed, MiB, 5, 1) == good);
    int devices[4] = {};
    REQUIRE(d.cuMemRangeGetAttribute(devices, sizeof devices, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                                     managed, MiB) == good);
    CHECK(devices[0] == 0);
    CHECK(devices[1] == 1);
    CHECK(devices[2] == CU_DEVICE_INVALID);
    CHECK(devices[3] == CU_DEVICE_INVALID);
    REQUIRE(advise(managed, MiB, 6, 0) == good);
    CHECK(attribute(managed, MiB, accessed_by) == 1);
}

TEST_CASE("arguments of range attribute queries are checked") {
    const ManagedMemory managed(MiB);
    const DeviceMemory device(4096);
    int values[4] = {};
    const auto ask = [](void *data, std::size_t size, int which, CUdeviceptr address,
                        std::size_t count) {
        return d.cuMemRangeGetAttribute(data, size, static_cast<CUmem_range_attribute>(which),
                                        address, count);
    };
    const Calls asked(ask);
    for (const int which : {1, 2, 4, 5, 6, 7, 8}) {
        asked[good] = {{values, 4, which, managed, MiB}};
        asked[invalid] = {{values, 8, which, managed, MiB}, {values, 16, which, managed, MiB}};
    }
    for (const std::size_t size : {4, 8, 16}) {
        asked[good] = {{values, size, accessed_by, managed, MiB}};
        asked[invalid] = {{values, size, 99, managed, MiB}};
    }
    asked[invalid] = {
        {values, 0, accessed_by, managed, MiB},     {values, 6, accessed_by, managed, MiB},
        {values, 4, read_mostly, device, 4096},     {values, 4, read_mostly, managed, 0},
        {values, 4, read_mostly, managed, 2 * MiB}, {nullptr, 4, read_mostly, managed, 4096}};
    void *data[2] = {&values[0], &values[1]};
    std::size_t sizes[2] = {4, 4};
    CUmem_range_attribute which[2] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                      CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    CHECK(d.cuMemRangeGetAttributes(data, sizes, which, 2, managed, MiB) == good);
    CHECK(values[0] == 0);
    CHECK(values[1] == CU_DEVICE_INVALID);
    CHECK(d.cuMemRangeGetAttributes(data, sizes, which, 0, managed, MiB) == invalid);
    CHECK(d.cuMemRangeGetAttributes(nullptr, sizes, which, 2, managed, MiB) == invalid);
    const WithoutContext none;
    CHECK(ask(values, 4, read_mostly, managed, 4096) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("a prefetch sets the last prefetch location of its range") {
    start(GENERATE_COPY(from_range(all_modes())));
    const ManagedMemory managed(MiB);
    const DeviceMemory device(4096);
    const PinnedMemory pinned(4096);
    const Stream stream(non_blocking);
    CHECK(prefetch(managed, 4096, 0, stream) == good);
    synchronize();
    CHECK(attribute(managed, 4096, last_prefetch) == 0);
    CHECK(attribute(managed, MiB, last_prefetch) == CU_DEVICE_INVALID);
    CHECK(prefetch(managed, MiB, CU_DEVICE_CPU, stream) == good);
    synchronize();
    CHECK(attribute(managed, MiB, last_prefetch) == CU_DEVICE_CPU);
    CHECK(prefetch(managed, 4096, 77, stream) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(prefetch(managed, 0, 0, stream) == invalid);
    CHECK(prefetch(device, 4096, 0, stream) == invalid);
    CHECK(prefetch(as_device(pinned), 4096, 0, stream) == invalid);
    CHECK(prefetch(managed, 2 * MiB, 0, stream) == invalid);
    CHECK(prefetch(managed + 4096, MiB, 0, stream) == invalid);
    CHECK(prefetch(0, 4096, 0, stream) == invalid);
#if CUDA_VERSION >= 13000
    CUmemLocation here{};
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK(d.cuMemPrefetchAsync(managed, 4096, here, 1, stream) == invalid);
    here.type = CU_MEM_LOCATION_TYPE_INVALID;
    CHECK(d.cuMemPrefetchAsync(managed, 4096, here, 0, stream) == invalid);
    CHECK(d.cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here) == invalid);
#endif
    {
        const WithoutContext none;
        CHECK(prefetch(managed, 4096, 0, stream) == good);
        CHECK(prefetch(managed, 4096, 0, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
    }
    synchronize();
}

TEST_CASE("managed memory can be attached to a stream as a whole") {
    const ManagedMemory managed(MiB);
    const DeviceMemory device(4096);
    const Stream stream(non_blocking);
    const Calls attach(&Driver::cuStreamAttachMemAsync);
    attach[good] = {{stream, managed, 0, CU_MEM_ATTACH_SINGLE},
                    {stream, managed, MiB, CU_MEM_ATTACH_HOST},
                    {stream, managed, 0, CU_MEM_ATTACH_GLOBAL}};
    attach[invalid] = {{stream, managed, 4096, CU_MEM_ATTACH_GLOBAL},
                       {stream, managed + 16, 0, CU_MEM_ATTACH_GLOBAL},
                       {stream, device, 0, CU_MEM_ATTACH_GLOBAL},
                       {stream, 0, 0, CU_MEM_ATTACH_GLOBAL},
                       {stream, managed, 0, 3},
                       {nullptr, managed, 0, CU_MEM_ATTACH_SINGLE},
                       {stream, managed, 0, 0}};
    expect_misuse("cuStreamAttachMemAsync without a flag");
    const WithoutContext none;
    CHECK(d.cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE) == good);
}

TEST_CASE("prefetching and attaching invalidate a capture") {
    const ManagedMemory managed(MiB);
    const Stream stream(non_blocking);
    check_breaks(stream, unsupported, [&] { return prefetch(managed, 4096, 0, stream); });
    check_breaks(stream, unsupported, [&] {
        return d.cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE);
    });
}

#if CUDA_VERSION >= 13000
TEST_CASE("batches prefetch and discard several ranges") {
    const ManagedMemory first(MiB), second(MiB);
    const DeviceMemory device(4096);
    CUdeviceptr addresses[2] = {first, second}, wrong[1] = {device};
    std::size_t sizes[2] = {4096, MiB}, indices[2] = {0, 1};
    CUmemLocation places[2] = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, {CU_MEM_LOCATION_TYPE_HOST, 0}};
    const Stream stream(non_blocking);
    const Calls fetch(&Driver::cuMemPrefetchBatchAsync);
    fetch[good] = {{addresses, sizes, 2, places, indices, 2, 0, stream}};
    synchronize();
    CHECK(attribute(first, 4096, last_prefetch) == 0);
    CHECK(attribute(second, MiB, last_prefetch) == CU_DEVICE_CPU);
    fetch[good] = {{addresses, sizes, 2, places, indices, 1, 0, stream}};
    synchronize();
    CHECK(attribute(second, MiB, last_prefetch) == 0);
    fetch[invalid] = {{addresses, sizes, 0, places, indices, 1, 0, stream},
                      {addresses, sizes, 1, places, indices, 0, 0, stream},
                      {addresses, sizes, 1, places, indices, 1, 1, stream},
                      {addresses, sizes, 1, places, indices, 1, 0, nullptr},
                      {wrong, sizes, 1, places, indices, 1, 0, stream}};
    auto *host = static_cast<unsigned char *>(as_host(second));
    std::memset(host, 7, MiB);
    const Calls discard(&Driver::cuMemDiscardBatchAsync);
    discard[good] = {{addresses + 1, sizes + 1, 1, 0, stream}};
    synchronize();
    CHECK(host[0] != 7); // undefined, but changed
    discard[invalid] = {{addresses, sizes, 1, 1, stream},
                        {addresses, sizes, 0, 0, stream},
                        {addresses, sizes, 1, 0, nullptr},
                        {wrong, sizes, 1, 0, stream}};
    CHECK(d.cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, 2, places, indices, 2, 0, stream) ==
          good);
    synchronize();
    CHECK(attribute(second, MiB, last_prefetch) == CU_DEVICE_CPU);
}
#endif

TEST_CASE("the forms that precede CUDA 13 take a device") {
    using Advise = CUresult (*)(CUdeviceptr, std::size_t, CUmem_advise, CUdevice);
    using Prefetch = CUresult (*)(CUdeviceptr, std::size_t, CUdevice, CUstream);
    const auto old_advise = reinterpret_cast<Advise>(exported("cuMemAdvise"));
    const auto old_prefetch = reinterpret_cast<Prefetch>(exported("cuMemPrefetchAsync"));
    const ManagedMemory managed(4096);
    CHECK(old_advise(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU) == good);
    CHECK(attribute(managed, 4096, preferred) == CU_DEVICE_CPU);
    CHECK(old_advise(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0) == good);
    CHECK(attribute(managed, 4096, preferred) == 0);
    CHECK(old_prefetch(managed, 4096, 0, nullptr) == good);
    CHECK(attribute(managed, 4096, last_prefetch) == 0);
    CHECK(old_prefetch(managed, 4096, 77, nullptr) == CUDA_ERROR_INVALID_DEVICE);
}
