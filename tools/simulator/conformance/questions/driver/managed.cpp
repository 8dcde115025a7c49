// Managed memory: advice, prefetches, discards, range attributes.
#include "../../record.hpp"

namespace record::QUESTIONS {

void managed() {
    if (!start()) {
        return;
    }
    constexpr std::size_t size = 2 << 20;
    CUdeviceptr p = 0, plain = 0;
    CUstream s = nullptr;
    d.cuStreamCreate(&s, 0);
    d.cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL);
    d.cuMemAlloc(&plain, 4096);
    CUmemLocation device{}, host{}, wrong{};
    device.type = CU_MEM_LOCATION_TYPE_DEVICE;
    host.type = CU_MEM_LOCATION_TYPE_HOST;
    wrong.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wrong.id = 99;
    ask("cuMemAdvise read mostly", d.cuMemAdvise(p, size, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    ask("cuMemAdvise preferred location",
        d.cuMemAdvise(p, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    ask("cuMemAdvise preferred location, device 99",
        d.cuMemAdvise(p, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, wrong));
    ask("cuMemAdvise 77", d.cuMemAdvise(p, size, static_cast<CUmem_advise>(77), device));
    ask("cuMemAdvise size 0", d.cuMemAdvise(p, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    ask("cuMemAdvise of plain memory",
        d.cuMemAdvise(plain, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    int value = 77;
    ask("cuMemRangeGetAttribute read mostly",
        d.cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p,
                                 size));
    note("read mostly", value);
    ask("cuMemRangeGetAttribute preferred location",
        d.cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p,
                                 size));
    note("preferred location", value);
    ask("cuMemRangeGetAttribute of 3 bytes",
        d.cuMemRangeGetAttribute(&value, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, size));
    ask("cuMemRangeGetAttribute 77",
        d.cuMemRangeGetAttribute(&value, sizeof value, static_cast<CUmem_range_attribute>(77), p,
                                 size));
    ask("cuMemRangeGetAttribute of plain memory",
        d.cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain,
                                 4096));
    int last = 77;
    void *outputs[] = {&value, &last};
    std::size_t sizes[] = {sizeof value, sizeof last};
    CUmem_range_attribute which[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                     CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
    ask("cuMemRangeGetAttributes", d.cuMemRangeGetAttributes(outputs, sizes, which, 2, p, size));
    ask("cuMemRangeGetAttributes of 0",
        d.cuMemRangeGetAttributes(outputs, sizes, which, 0, p, size));
    ask("cuMemPrefetchAsync to the device", d.cuMemPrefetchAsync(p, size, device, 0, s));
    ask("cuMemPrefetchAsync to the host", d.cuMemPrefetchAsync(p, size, host, 0, s));
    ask("cuMemPrefetchAsync to device 99", d.cuMemPrefetchAsync(p, size, wrong, 0, s));
    ask("cuMemPrefetchAsync flags 1", d.cuMemPrefetchAsync(p, size, device, 1, s));
    ask("cuMemPrefetchAsync of plain memory", d.cuMemPrefetchAsync(plain, 4096, device, 0, s));
    d.cuStreamSynchronize(s);
    d.cuMemRangeGetAttribute(&last, sizeof last, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p,
                             size);
    note("last prefetch location", last);
    CUdeviceptr all[] = {p};
    std::size_t lengths[] = {size}, indices[] = {0};
    ask("cuMemPrefetchBatchAsync",
        d.cuMemPrefetchBatchAsync(all, lengths, 1, &device, indices, 1, 0, s));
    ask("cuMemPrefetchBatchAsync flags 1",
        d.cuMemPrefetchBatchAsync(all, lengths, 1, &device, indices, 1, 1, s));
    ask("cuMemDiscardBatchAsync", d.cuMemDiscardBatchAsync(all, lengths, 1, 0, s));
    ask("cuMemDiscardBatchAsync flags 1", d.cuMemDiscardBatchAsync(all, lengths, 1, 1, s));
    ask("cuMemDiscardAndPrefetchBatchAsync",
        d.cuMemDiscardAndPrefetchBatchAsync(all, lengths, 1, &device, indices, 1, 0, s));
    ask("cuMemDiscardAndPrefetchBatchAsync flags 1",
        d.cuMemDiscardAndPrefetchBatchAsync(all, lengths, 1, &device, indices, 1, 1, s));
    ask("cuStreamAttachMemAsync", d.cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_SINGLE));
    ask("cuStreamAttachMemAsync global", d.cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_GLOBAL));
    ask("cuStreamAttachMemAsync flags 0x80", d.cuStreamAttachMemAsync(s, p, 0, 0x80));
    ask("cuStreamAttachMemAsync of a part",
        d.cuStreamAttachMemAsync(s, p, 4096, CU_MEM_ATTACH_GLOBAL));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    ask("cuMemFree", d.cuMemFree(p));
    d.cuMemFree(plain);
    d.cuStreamDestroy(s);
}

void location_pools() {
    if (!start()) {
        return;
    }
    CUmemLocation device{};
    device.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool standard = nullptr, current = nullptr, own = nullptr;
    ask("cuMemGetDefaultMemPool",
        d.cuMemGetDefaultMemPool(&standard, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
    ask("cuMemGetMemPool", d.cuMemGetMemPool(&current, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
    note("the default is current", standard == current);
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = device;
    d.cuMemPoolCreate(&own, &props);
    ask("cuMemSetMemPool", d.cuMemSetMemPool(&device, CU_MEM_ALLOCATION_TYPE_PINNED, own));
    d.cuMemGetMemPool(&current, &device, CU_MEM_ALLOCATION_TYPE_PINNED);
    note("it is current", current == own);
    ask("cuMemSetMemPool of the default",
        d.cuMemSetMemPool(&device, CU_MEM_ALLOCATION_TYPE_PINNED, standard));
    ask("cuMemPoolDestroy", d.cuMemPoolDestroy(own));
    device.id = 99;
    ask("cuMemGetDefaultMemPool device 99",
        d.cuMemGetDefaultMemPool(&standard, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
    ask("cuMemGetMemPool device 99",
        d.cuMemGetMemPool(&current, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
    cuuint64_t bytes = 0;
    ask("cuDeviceGetGraphMemAttribute used",
        d.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
    note("used", static_cast<long long>(bytes));
    ask("cuDeviceGetGraphMemAttribute 77",
        d.cuDeviceGetGraphMemAttribute(0, static_cast<CUgraphMem_attribute>(77), &bytes));
    bytes = 0;
    ask("cuDeviceSetGraphMemAttribute high 0",
        d.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &bytes));
    ask("cuDeviceSetGraphMemAttribute current",
        d.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
    ask("cuDeviceGraphMemTrim", d.cuDeviceGraphMemTrim(0));
    ask("cuDeviceGraphMemTrim dev 99", d.cuDeviceGraphMemTrim(99));
}

} // namespace record::QUESTIONS
