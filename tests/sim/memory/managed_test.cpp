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
    return driver().cuMemAdvise(address, size, static_cast<CUmem_advise>(advice), place(device));
}

CUresult prefetch(CUdeviceptr address, std::size_t size, int device, CUstream stream) {
#if CUDA_VERSION >= 13000
    return driver().cuMemPrefetchAsync(address, size, place(device), 0, stream);
#else
    return driver().cuMemPrefetchAsync(address, size, device, stream);
#endif
}

int attribute(CUdeviceptr address, std::size_t size, int which) {
    int value = 0x5a;
    require_ok(driver().cuMemRangeGetAttribute(
        &value, sizeof value, static_cast<CUmem_range_attribute>(which), address, size));
    return value;
}

constexpr int read_mostly = 1, preferred = 2, accessed_by = 3, last_prefetch = 4;

} // namespace

TEST_CASE("managed memory may exceed the memory of the device") {
    start("memory=1GiB");
    const ManagedMemory big(2 * GiB);
    static_cast<unsigned char *>(as_host(big))[2 * GiB - 1] = 1;
    CHECK(free_memory() == GiB);
    CUdeviceptr address = 0;
    CHECK(driver().cuMemAllocManaged(&address, 16, 3) == invalid);
}

TEST_CASE("managed memory is accessible to host and device at the same address") {
    start(GENERATE_COPY(from_range(all_modes())));
    const ManagedMemory managed(1000);
    const DeviceMemory device(1000);
    auto *host = static_cast<unsigned char *>(as_host(managed));
    const Bytes bytes = pattern(1000, 1);
    std::memcpy(host, bytes.data(), bytes.size());
    ok(driver().cuMemcpyDtoD(device, managed, 1000));
    synchronize();
    CHECK((contents(device, 1000) == bytes));
    ok(driver().cuMemsetD8(managed, 3, 1000));
    CHECK(host[999] == 3);
    CHECK(sim_control().view(managed, 1000) == host);
}

TEST_CASE("advice applies to any part of managed memory, for a device or the host") {
    const ManagedMemory managed(MiB);
    for (const int advice : {1, 2, 3, 4, 5, 6}) {
        ok(advise(managed, MiB, advice));
        ok(advise(managed, MiB, advice, CU_DEVICE_CPU));
    }
    const Calls refused(advise);
    refused[invalid] = {{managed, MiB, 0, 0},
                        {managed, MiB, 7, 0},
                        {as_device(&managed), 4096, 1, 0},
                        {managed, 2 * MiB, 1, 0}};
}

TEST_CASE("a range has an attribute value only if all its pages have it") {
    start("devices=2");
    const ManagedMemory managed(MiB);
    CHECK(attribute(managed, MiB, read_mostly) == 0);
    CHECK(attribute(managed, MiB, preferred) == CU_DEVICE_INVALID);
    CHECK(attribute(managed, MiB, last_prefetch) == CU_DEVICE_INVALID);
    require_ok(advise(managed + 4096, 8192, 1));
    CHECK(attribute(managed + 4096, 8192, read_mostly) == 1);
    CHECK(attribute(managed + 8192, 4096, read_mostly) == 1);
    CHECK(attribute(managed, 8192, read_mostly) == 0);
    CHECK(attribute(managed, MiB, read_mostly) == 0);
    require_ok(advise(managed, MiB, 2));
    CHECK(attribute(managed + 4096, 8192, read_mostly) == 0);
    require_ok(advise(managed, MiB, 3, 1));
    CHECK(attribute(managed, MiB, preferred) == 1);
    require_ok(advise(managed, 4096, 3, CU_DEVICE_CPU));
    CHECK(attribute(managed, 4096, preferred) == CU_DEVICE_CPU);
    CHECK(attribute(managed, MiB, preferred) == CU_DEVICE_INVALID);
    require_ok(advise(managed, MiB, 4));
    CHECK(attribute(managed, 4096, preferred) == CU_DEVICE_INVALID);
    require_ok(advise(managed, MiB, 5, 0));
    require_ok(advise(managed, MiB, 5, 1));
    int devices[4] = {};
    require_ok(driver().cuMemRangeGetAttribute(devices, sizeof devices,
                                               CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, managed, MiB));
    CHECK(devices[0] == 0);
    CHECK(devices[1] == 1);
    CHECK(devices[2] == CU_DEVICE_INVALID);
    CHECK(devices[3] == CU_DEVICE_INVALID);
    require_ok(advise(managed, MiB, 6, 0));
    CHECK(attribute(managed, MiB, accessed_by) == 1);
}

TEST_CASE("a range attribute is one number, except for the accessing devices") {
    const ManagedMemory managed(MiB);
    int values[4] = {};
    const Calls asked([&](std::size_t size, int which, std::size_t count) {
        return driver().cuMemRangeGetAttribute(
            values, size, static_cast<CUmem_range_attribute>(which), managed, count);
    });
    for (const int which : {1, 2, 4, 5, 6, 7, 8}) {
        asked[CUDA_SUCCESS] = {{4, which, MiB}};
        asked[invalid] = {{8, which, MiB}, {16, which, MiB}};
    }
    asked[CUDA_SUCCESS] = {{4, accessed_by, MiB}, {8, accessed_by, MiB}, {16, accessed_by, MiB}};
    asked[invalid] = {{0, accessed_by, MiB}, {6, accessed_by, MiB}, {4, read_mostly, 2 * MiB}};
    void *data[2] = {&values[0], &values[1]};
    std::size_t sizes[2] = {4, 4};
    CUmem_range_attribute which[2] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                      CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    ok(driver().cuMemRangeGetAttributes(data, sizes, which, 2, managed, MiB));
    CHECK(values[0] == 0);
    CHECK(values[1] == CU_DEVICE_INVALID);
}

TEST_CASE("a prefetch sets the last prefetch location of its range") {
    start(GENERATE_COPY(from_range(all_modes())));
    const ManagedMemory managed(MiB);
    const Stream stream(non_blocking);
    ok(prefetch(managed, 4096, 0, stream));
    synchronize();
    CHECK(attribute(managed, 4096, last_prefetch) == 0);
    CHECK(attribute(managed, MiB, last_prefetch) == CU_DEVICE_INVALID);
    ok(prefetch(managed, MiB, CU_DEVICE_CPU, stream));
    synchronize();
    CHECK(attribute(managed, MiB, last_prefetch) == CU_DEVICE_CPU);
    CHECK(prefetch(managed, 0, 0, stream) == invalid);
    CHECK(prefetch(managed + 4096, MiB, 0, stream) == invalid);
}

TEST_CASE("managed memory is attached by its address, to one stream that is not a default one") {
    const ManagedMemory managed(MiB);
    const Stream stream(non_blocking);
    const Calls attach(&Driver::cuStreamAttachMemAsync);
    attach[CUDA_SUCCESS] = {{stream, managed, 0, CU_MEM_ATTACH_SINGLE},
                            {stream, managed, MiB, CU_MEM_ATTACH_HOST}};
    attach[invalid] = {{stream, managed + 16, 0, CU_MEM_ATTACH_GLOBAL},
                       {stream, managed, 0, 3},
                       {nullptr, managed, 0, CU_MEM_ATTACH_SINGLE},
                       {stream, managed, 0, 0}};
    expect_misuse("cuStreamAttachMemAsync without a flag");
}

TEST_CASE("prefetching and attaching invalidate a capture") {
    const ManagedMemory managed(MiB);
    const Stream stream(non_blocking);
    check_breaks(stream, unsupported, [&] { return prefetch(managed, 4096, 0, stream); });
    check_breaks(stream, unsupported, [&] {
        return driver().cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE);
    });
}

#if CUDA_VERSION >= 13000
TEST_CASE("batches prefetch and discard several ranges") {
    const ManagedMemory first(MiB), second(MiB);
    const DeviceMemory device(4096);
    CUdeviceptr addresses[2] = {first, second}, wrong[1] = {device};
    std::size_t sizes[2] = {4096, MiB}, indices[2] = {0, 1};
    CUmemLocation nowhere[1] = {};
    CUmemLocation places[2] = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, {CU_MEM_LOCATION_TYPE_HOST, 0}};
    const Stream stream(non_blocking);
    const Calls fetch(&Driver::cuMemPrefetchBatchAsync);
    fetch[CUDA_SUCCESS] = {{addresses, sizes, 2, places, indices, 2, 0, stream}};
    synchronize();
    CHECK(attribute(first, 4096, last_prefetch) == 0);
    CHECK(attribute(second, MiB, last_prefetch) == CU_DEVICE_CPU);
    fetch[CUDA_SUCCESS] = {{addresses, sizes, 2, places, indices, 1, 0, stream}};
    synchronize();
    CHECK(attribute(second, MiB, last_prefetch) == 0);
    fetch[invalid] = {{addresses, sizes, 1, places, indices, 0, 0, stream},
                      {addresses, sizes, 1, nowhere, indices, 1, 0, stream},
                      {wrong, sizes, 1, places, indices, 1, 0, stream}};
    auto *host = static_cast<unsigned char *>(as_host(second));
    std::memset(host, 7, MiB);
    CHECK(driver().cuMemDiscardBatchAsync(addresses, sizes, 0, 0, stream) == invalid);
    ok(driver().cuMemDiscardBatchAsync(addresses + 1, sizes + 1, 1, 0, stream));
    synchronize();
    CHECK(host[0] != 7); // undefined, but changed
    ok(driver().cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, 2, places, indices, 2, 0,
                                                  stream));
    synchronize();
    CHECK(attribute(second, MiB, last_prefetch) == CU_DEVICE_CPU);
}
#endif

TEST_CASE("the forms that precede CUDA 13 take a device") {
    const ManagedMemory managed(4096);
    for (const CUdevice where : {CUdevice(CU_DEVICE_CPU), 0}) {
        ok(driver().cuMemAdvise_v1(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, where));
        CHECK(attribute(managed, 4096, preferred) == where);
        ok(driver().cuMemPrefetchAsync_v1(managed, 4096, where, nullptr));
        CHECK(attribute(managed, 4096, last_prefetch) == where);
    }
}
