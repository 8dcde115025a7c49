// Managed memory: advice, prefetches, discards, range attributes.
#include "../../record.hpp"

namespace record::QUESTIONS {

SECTION("managed", start) {
    constexpr std::size_t size = 2 << 20;
    CUstream s = MAKE(cuStreamCreate, 0);
    CUdeviceptr p = MAKE(cuMemAllocManaged, size, CU_MEM_ATTACH_GLOBAL);
    CUdeviceptr plain = MAKE(cuMemAlloc, 4096);
    CUmemLocation device{}, host{}, wrong{};
    device.type = CU_MEM_LOCATION_TYPE_DEVICE;
    host.type = CU_MEM_LOCATION_TYPE_HOST;
    wrong.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wrong.id = 99;
    ASK(cuMemAdvise, " read mostly", p, size, CU_MEM_ADVISE_SET_READ_MOSTLY, device);
    ASK(cuMemAdvise, " preferred location", p, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device);
    ASK(cuMemAdvise, " preferred location, device 99", p, size,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION, wrong);
    ASK(cuMemAdvise, " 77", p, size, static_cast<CUmem_advise>(77), device);
    ASK(cuMemAdvise, " size 0", p, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, device);
    ASK(cuMemAdvise, " of plain memory", plain, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device);
    int value = 77;
    ASK(cuMemRangeGetAttribute, " read mostly", &value, sizeof value,
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, size)
        .note("read mostly", value);
    ASK(cuMemRangeGetAttribute, " preferred location", &value, sizeof value,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, size)
        .note("preferred location", value);
    ASK(cuMemRangeGetAttribute, " of 3 bytes", &value, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p,
        size);
    ASK(cuMemRangeGetAttribute, " 77", &value, sizeof value, static_cast<CUmem_range_attribute>(77),
        p, size);
    ASK(cuMemRangeGetAttribute, " of plain memory", &value, sizeof value,
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, 4096);
    int last = 77;
    void *outputs[] = {&value, &last};
    std::size_t sizes[] = {sizeof value, sizeof last};
    CUmem_range_attribute which[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                     CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
    ASK(cuMemRangeGetAttributes, "", outputs, sizes, which, 2, p, size);
    ASK(cuMemRangeGetAttributes, " of 0", outputs, sizes, which, 0, p, size);
    ASK(cuMemPrefetchAsync, " to the device", p, size, device, 0, s);
    ASK(cuMemPrefetchAsync, " to the host", p, size, host, 0, s);
    ASK(cuMemPrefetchAsync, " to device 99", p, size, wrong, 0, s);
    ASK(cuMemPrefetchAsync, " flags 1", p, size, device, 1, s);
    ASK(cuMemPrefetchAsync, " of plain memory", plain, 4096, device, 0, s);
    d.cuStreamSynchronize(s);
    d.cuMemRangeGetAttribute(&last, sizeof last, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p,
                             size);
    note("last prefetch location", last);
    CUdeviceptr all[] = {p};
    std::size_t lengths[] = {size}, indices[] = {0};
    ASK(cuMemPrefetchBatchAsync, "", all, lengths, 1, &device, indices, 1, 0, s);
    ASK(cuMemPrefetchBatchAsync, " flags 1", all, lengths, 1, &device, indices, 1, 1, s);
    ASK(cuMemDiscardBatchAsync, "", all, lengths, 1, 0, s);
    ASK(cuMemDiscardBatchAsync, " flags 1", all, lengths, 1, 1, s);
    ASK(cuMemDiscardAndPrefetchBatchAsync, "", all, lengths, 1, &device, indices, 1, 0, s);
    ASK(cuMemDiscardAndPrefetchBatchAsync, " flags 1", all, lengths, 1, &device, indices, 1, 1, s);
    ASK(cuStreamAttachMemAsync, "", s, p, 0, CU_MEM_ATTACH_SINGLE);
    ASK(cuStreamAttachMemAsync, " global", s, p, 0, CU_MEM_ATTACH_GLOBAL);
    ASK(cuStreamAttachMemAsync, " flags 0x80", s, p, 0, 0x80);
    ASK(cuStreamAttachMemAsync, " of a part", s, p, 4096, CU_MEM_ATTACH_GLOBAL);
    ASK(cuStreamSynchronize, "", s);
    ASK(cuMemFree, "", p);
    d.cuMemFree(plain);
    d.cuStreamDestroy(s);
}

SECTION_ONCE("location_pools", start) {
    CUmemLocation device{.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUmemoryPool standard = nullptr, current = nullptr;
    ASK(cuMemGetDefaultMemPool, "", &standard, &device, CU_MEM_ALLOCATION_TYPE_PINNED);
    ASK(cuMemGetMemPool, "", &current, &device, CU_MEM_ALLOCATION_TYPE_PINNED);
    note("the default is current", standard == current);
    CUmemPoolProps props{.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = device};
    CUmemoryPool own = MAKE(cuMemPoolCreate, &props);
    ASK(cuMemSetMemPool, "", &device, CU_MEM_ALLOCATION_TYPE_PINNED, own);
    d.cuMemGetMemPool(&current, &device, CU_MEM_ALLOCATION_TYPE_PINNED);
    note("it is current", current == own);
    ASK(cuMemSetMemPool, " of the default", &device, CU_MEM_ALLOCATION_TYPE_PINNED, standard);
    ASK(cuMemPoolDestroy, "", own);
    device.id = 99;
    ASK(cuMemGetDefaultMemPool, " device 99", &standard, &device, CU_MEM_ALLOCATION_TYPE_PINNED);
    ASK(cuMemGetMemPool, " device 99", &current, &device, CU_MEM_ALLOCATION_TYPE_PINNED);
    cuuint64_t bytes = 0;
    ASK(cuDeviceGetGraphMemAttribute, " used", 0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes);
    note("used", bytes);
    ASK(cuDeviceGetGraphMemAttribute, " 77", 0, static_cast<CUgraphMem_attribute>(77), &bytes);
    bytes = 0;
    ASK(cuDeviceSetGraphMemAttribute, " high 0", 0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &bytes);
    ASK(cuDeviceSetGraphMemAttribute, " current", 0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes);
    ASK(cuDeviceGraphMemTrim, "", 0);
    ASK(cuDeviceGraphMemTrim, " dev 99", 99);
}

} // namespace record::QUESTIONS
