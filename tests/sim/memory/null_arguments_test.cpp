// Null pointers where memory calls need a value.
#include "pool_tools.hpp"

using namespace sim_test;

TEST_CASE("a null pointer that a memory call needs is refused") {
    const ManagedMemory memory(MiB);
    const PinnedMemory pinned(64);
    const Mapped mapped(G);
    const Pool pool;
    const Stream stream;
    const CUDA_ARRAY3D_DESCRIPTOR shape{
        .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    const auto levels = got<CUmipmappedArray>(&Driver::cuMipmappedArrayCreate, out, &shape, 1);
    const auto array = got<CUarray>(&Driver::cuMipmappedArrayGetLevel, out, levels, 0);
    const auto properties = on_device();
    CUdeviceptr address = 0;
    CUarray other = nullptr;
    CUmipmappedArray others = nullptr;
    CUmemoryPool made = nullptr;
    CUmemLocation where = grant().location;
    CUmemAccess_flags flags{};
    unsigned long long access = 0;
    CUpointer_attribute type = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    CUmem_range_attribute mostly = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
    std::size_t size = 4, pitch = 0;
    void *data = &size;
    check_all(invalid,
              {driver().cuArray3DCreate(&other, nullptr),
               driver().cuArrayGetDescriptor(nullptr, array),
               driver().cuMemAllocManaged(nullptr, 16, CU_MEM_ATTACH_GLOBAL),
               driver().cuMemAllocPitch(&address, nullptr, 3, 1, 4),
               driver().cuMemAllocPitch(nullptr, &pitch, 3, 1, 4),
               driver().cuMemCreate(nullptr, G, &properties, 0),
               driver().cuMemGetAccess(&access, nullptr, mapped.address),
               driver().cuMemGetAccess(nullptr, &where, mapped.address),
               driver().cuMemGetAllocationPropertiesFromHandle(nullptr, mapped.handle),
               driver().cuMemHostGetDevicePointer(nullptr, pinned, 0),
               driver().cuMemHostGetFlags(nullptr, pinned),
               driver().cuMemPoolCreate(&made, nullptr),
               driver().cuMemPoolGetAccess(&flags, pool, nullptr),
               driver().cuMemPoolGetAccess(nullptr, pool, &where),
               driver().cuMemPoolGetAttribute(pool, threshold, nullptr),
               driver().cuMemPoolSetAccess(pool, nullptr, 1),
               driver().cuMemPoolSetAttribute(pool, threshold, nullptr),
               driver().cuMemRangeGetAttribute(nullptr, 4, mostly, memory, MiB),
               driver().cuMemRangeGetAttributes(nullptr, &size, &mostly, 1, memory, MiB),
               driver().cuMemRetainAllocationHandle(nullptr, as_host(mapped.address)),
               driver().cuMipmappedArrayCreate(&others, nullptr, 1),
               driver().cuMipmappedArrayCreate(nullptr, &shape, 1),
               driver().cuMipmappedArrayGetLevel(nullptr, levels, 0),
               driver().cuPointerGetAttributes(1, &type, nullptr, memory),
               driver().cuPointerGetAttributes(1, nullptr, &data, memory),
               driver().cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory),
               driver().cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr),
               driver().cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr)});
    ok(driver().cuMipmappedArrayDestroy(levels));
}
