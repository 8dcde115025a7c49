// Attributes of addresses.
#include "pool_tools.hpp"

using namespace sim_test;

namespace {

template <class T>
T get(int attribute, CUdeviceptr address) {
    return got<T>(&Driver::cuPointerGetAttribute, out, static_cast<CUpointer_attribute>(attribute),
                  address);
}

CUresult status(int attribute, CUdeviceptr address) {
    unsigned char value[64];
    return driver().cuPointerGetAttribute(value, static_cast<CUpointer_attribute>(attribute),
                                          address);
}

// Attributes by number; the headers of older versions lack their names.
constexpr int mapped_size = 18, mapped_base = 19;

} // namespace

TEST_CASE("attributes that no recording asks for are those of an H200") {
    const DeviceMemory device(MiB);
    const ManagedMemory managed(MiB);
    const PinnedMemory pinned(MiB);
    struct Expected {
        CUdeviceptr base;
        bool p2p, plain;
    };
    for (const Expected &e : {Expected{device, true, true},
                              {as_device(pinned), false, false},
                              {managed, true, false}}) {
        const CUdeviceptr at = e.base + 100;
        CHECK(get<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, at) == current());
        CHECK(status(CU_POINTER_ATTRIBUTE_P2P_TOKENS, at) == (e.p2p ? CUDA_SUCCESS : invalid));
        CHECK(get<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, at) ==
              get<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, e.base));
        CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, at) == e.plain);
        CHECK(get<void *>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at) == nullptr);
        CHECK(get<std::size_t>(mapped_size, at) == 2 * MiB);
        CHECK(get<CUdeviceptr>(mapped_base, at) == e.base);
        CHECK(get<unsigned int>(21, at) == e.plain);
    }
}

TEST_CASE("attributes of pool memory name the pool") {
    const PoolMemory memory(4096);
    CHECK(get<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, memory) == nullptr);
    CHECK(get<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory) == default_pool());
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory) == 0);
    CHECK(get<std::size_t>(mapped_size, memory) == 32 * MiB); // in blocks
}

TEST_CASE("freed memory has no attributes") {
    const CUdeviceptr freed = allocate(4096);
    release(freed);
    for (int attribute = 1; attribute <= 21; ++attribute) {
        CHECK(status(attribute, freed) == invalid);
    }
    CHECK(misuses().empty()); // a query is not a use
}

TEST_CASE("several attributes can be queried at once") {
    const CUdeviceptr freed = allocate(64);
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    const PinnedMemory pinned(64);
    release(freed);
    CUpointer_attribute which[3] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    CU_POINTER_ATTRIBUTE_HOST_POINTER};
    unsigned int type = 9;
    int ordinal = 9;
    void *host = nullptr;
    void *data[3] = {&type, &ordinal, &host};
    struct Case {
        CUdeviceptr address;
        unsigned int type;
        int ordinal;
        void *host;
    };
    for (const Case &each : {Case{device, 2, 0, nullptr},
                             {as_device(pinned), 1, 0, pinned},
                             {managed, 2, 0, as_host(managed)},
                             {as_device(&type), 0, CU_DEVICE_INVALID, &type},
                             {freed, 0, CU_DEVICE_INVALID, as_host(freed)}}) {
        type = 9, ordinal = 9, host = &ordinal;
        ok(driver().cuPointerGetAttributes(3, which, data, each.address));
        CHECK(type == each.type);
        CHECK(ordinal == each.ordinal);
        CHECK(host == each.host);
    }
    which[1] = static_cast<CUpointer_attribute>(99);
    CHECK(driver().cuPointerGetAttributes(3, which, data, device) == invalid);
}

TEST_CASE("SYNC_MEMOPS can be set and unset for all kinds of memory") {
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    const PinnedMemory pinned(64);
    constexpr auto sync = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
    const unsigned int yes = 1, no = 0;
    for (const CUdeviceptr address : {device + 0, managed + 0, as_device(pinned)}) {
        ok(driver().cuPointerSetAttribute(&yes, sync, address));
        CHECK(get<unsigned int>(sync, address + 8) == 1);
        ok(driver().cuPointerSetAttribute(&no, sync, address));
        CHECK(get<unsigned int>(sync, address) == 0);
    }
    CHECK(driver().cuPointerSetAttribute(&yes, sync, as_device(&yes)) == invalid);
}
