// Virtual memory management.
#include "tools.hpp"

namespace bugs {
namespace {

// Physical memory, mapped with access, in the steps that a mistake leaves out.
struct Range {
    CUmemAllocationProp properties{};
    std::size_t size = 0;
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle physical = 0;

    Range() {
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        must(cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        must(cuMemAddressReserve(&address, size, 0, 0, 0));
        must(cuMemCreate(&physical, size, &properties, 0));
        must(cuMemMap(address, size, 0, physical, 0));
    }
    void allow_access() const {
        const CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        must(cuMemSetAccess(address, size, &access, 1));
    }
    void unmap() const { must(cuMemUnmap(address, size)); }
    void release() const { must(cuMemRelease(physical)); }
    void free() const { must(cuMemAddressFree(address, size)); }
};

} // namespace

void add_virtual_memory_bugs(Programs &programs) {
    programs["mapped memory has no access"] = [](bool buggy) {
        PrimaryContext context;
        Range range;
        if (!buggy) {
            range.allow_access();
        }
        ignore(cuMemsetD8(range.address, 0, 64));
        ignore(cuCtxSynchronize());
        range.unmap();
        range.release();
        range.free();
    };
    programs["memory is unmapped while enqueued work uses it"] = [](bool buggy) {
        PrimaryContext context;
        Stream stream;
        Range range;
        range.allow_access();
        must(cuMemsetD8Async(range.address, 0, 64, stream));
        if (!buggy) {
            must(cuStreamSynchronize(stream));
        }
        range.unmap();
        ignore(cuStreamSynchronize(stream));
        range.release();
        range.free();
    };
    programs["physical memory is not released"] = [](bool buggy) {
        PrimaryContext context;
        Range range;
        range.unmap();
        if (!buggy) {
            range.release();
        }
        range.free();
    };
    programs["an address range is not freed"] = [](bool buggy) {
        PrimaryContext context;
        Range range;
        range.unmap();
        range.release();
        if (!buggy) {
            range.free();
        }
    };
    programs["an address range is freed while memory is mapped"] = [](bool buggy) {
        PrimaryContext context;
        Range range;
        if (!buggy) {
            range.unmap();
        }
        range.release();
        ignore(cuMemAddressFree(range.address, range.size));
    };
}

} // namespace bugs
