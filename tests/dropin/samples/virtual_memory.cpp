// Virtual memory management, driver API: an address range that grows by mapping physical memory,
// and physical memory that is exported as a file descriptor and mapped a second time.
#include "check_driver.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <unistd.h>

namespace {

CUmemAllocationProp pinned_on(CUdevice device) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return properties;
}

bool has(CUdevice device, CUdevice_attribute which) {
    int value = 0;
    CHECK(cuDeviceGetAttribute(&value, which, device));
    return value != 0;
}

// A vector that never moves: reserves addresses for its largest size, maps memory for its current
// one.
class GrowingVector {
  public:
    GrowingVector(CUdevice device, size_t most) : properties_(pinned_on(device)) {
        CHECK(
            cuMemGetAllocationGranularity(&chunk_, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        reserved_ = (most + chunk_ - 1) / chunk_ * chunk_;
        CHECK(cuMemAddressReserve(&base_, reserved_, 0, 0, 0));
    }
    GrowingVector(const GrowingVector &) = delete;
    ~GrowingVector() {
        CHECK(cuMemUnmap(base_, size()));
        for (const CUmemGenericAllocationHandle handle : chunks_) {
            CHECK(cuMemRelease(handle));
        }
        CHECK(cuMemAddressFree(base_, reserved_));
    }

    // Adds one chunk.
    void grow() {
        CUmemGenericAllocationHandle handle = 0;
        CHECK(cuMemCreate(&handle, chunk_, &properties_, 0));
        CHECK(cuMemMap(base_ + size(), chunk_, 0, handle, 0));
        CUmemAccessDesc access = {};
        access.location = properties_.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        CHECK(cuMemSetAccess(base_ + size(), chunk_, &access, 1));
        chunks_.push_back(handle);
    }

    CUdeviceptr base() const { return base_; }
    size_t chunk() const { return chunk_; }
    size_t size() const { return chunks_.size() * chunk_; }
    CUmemGenericAllocationHandle handle(size_t i) const { return chunks_[i]; }
    const CUmemAllocationProp &properties() const { return properties_; }

  private:
    CUmemAllocationProp properties_;
    size_t chunk_ = 0, reserved_ = 0;
    CUdeviceptr base_ = 0;
    std::vector<CUmemGenericAllocationHandle> chunks_;
};

bool holds(CUdeviceptr memory, size_t size, unsigned char wanted) {
    std::vector<unsigned char> host(size);
    CHECK(cuMemcpyDtoH(host.data(), memory, size));
    return std::all_of(host.begin(), host.end(),
                       [wanted](unsigned char each) { return each == wanted; });
}

// Growing keeps addresses and contents; one operation may span all chunks.
int grows(GrowingVector &vector) {
    vector.grow();
    CHECK(cuMemsetD8(vector.base(), 0x11, vector.size()));
    vector.grow();
    CHECK(cuMemsetD8(vector.base() + vector.chunk(), 0x22, vector.chunk()));
    const bool kept = holds(vector.base(), vector.chunk(), 0x11) &&
                      holds(vector.base() + vector.chunk(), vector.chunk(), 0x22);
    CHECK(cuMemsetD32(vector.base(), 0x33333333, vector.size() / 4));
    const bool spanned = holds(vector.base(), vector.size(), 0x33);
    printf("two chunks: %s, as one: %s\n", kept ? "right" : "WRONG", spanned ? "right" : "WRONG");
    return (kept ? 0 : 1) + (spanned ? 0 : 1);
}

// Maps the same memory twice.
int shares(const GrowingVector &vector) {
    int descriptor = -1;
    CHECK(cuMemExportToShareableHandle(&descriptor, vector.handle(0),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUmemGenericAllocationHandle imported = 0;
    CHECK(cuMemImportFromShareableHandle(&imported,
                                         reinterpret_cast<void *>(std::intptr_t{descriptor}),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    CUdeviceptr second = 0;
    CHECK(cuMemAddressReserve(&second, vector.chunk(), 0, 0, 0));
    CHECK(cuMemMap(second, vector.chunk(), 0, imported, 0));
    CUmemAccessDesc access = {};
    access.location = vector.properties().location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemSetAccess(second, vector.chunk(), &access, 1));

    CHECK(cuMemsetD8(second, 0x44, vector.chunk()));
    CHECK(cuCtxSynchronize());
    const bool seen = holds(vector.base(), vector.chunk(), 0x44);
    CHECK(cuMemUnmap(second, vector.chunk()));
    CHECK(cuMemRelease(imported));
    CHECK(cuMemAddressFree(second, vector.chunk()));
    printf("through the descriptor: %s\n", seen ? "right" : "WRONG");
    return seen ? 0 : 1;
}

} // namespace

int main() {
    need_device();
    CUdevice device = 0;
    CUcontext context = nullptr;
    CHECK(cuDeviceGet(&device, 0));
    if (!has(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) ||
        !has(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)) {
        fputs("Device 0 does not support this\n", stderr);
        return EXIT_NO_DEVICE;
    }
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    int wrong = 0;
    {
        GrowingVector vector(device, 64 << 20);
        printf("chunks of %u KiB\n", static_cast<unsigned>(vector.chunk() >> 10));
        wrong += grows(vector);
        wrong += shares(vector);
    }
    CHECK(cuCtxSetCurrent(nullptr));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
