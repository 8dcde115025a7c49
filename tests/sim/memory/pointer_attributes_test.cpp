// Attributes of addresses.
#include "pool_tools.hpp"

using namespace sim_test;

namespace {

template <class T>
T get(int attribute, CUdeviceptr address) {
    T value{};
    REQUIRE(d.cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(attribute), address) ==
            good);
    return value;
}

CUresult status(int attribute, CUdeviceptr address) {
    unsigned char value[64];
    return d.cuPointerGetAttribute(value, static_cast<CUpointer_attribute>(attribute), address);
}

// The attributes of one address on an H200; numbers are those of CUpointer_attribute.
struct Expected {
    unsigned int type;
    bool on_host, p2p, managed, plain;
    std::size_t size, mapped;
};

void check(CUdeviceptr base, std::size_t offset, const Expected &e) {
    CUcontext context = current();
    const CUdeviceptr at = base + offset;
    CHECK(get<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, at) == context);
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == e.type);
    CHECK(get<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at) == at);
    void *host = &context;
    CHECK(d.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at) ==
          (e.on_host ? good : invalid));
    CHECK(host == (e.on_host ? as_host(at) : nullptr));
    CHECK(status(CU_POINTER_ATTRIBUTE_P2P_TOKENS, at) == (e.p2p ? good : invalid));
    CHECK(get<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, at) ==
          get<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, base));
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, at) == e.managed);
    CHECK(get<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at) == 0);
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at) == e.plain);
    CHECK(get<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at) == base);
    CHECK(get<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, at) == e.size);
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_MAPPED, at) == 1);
    CHECK(get<unsigned long long>(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at) == 0);
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, at) == e.plain);
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at) == 3);
    CHECK(get<void *>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at) == nullptr);
    CHECK(get<std::size_t>(18, at) == e.mapped);
    CHECK(get<CUdeviceptr>(19, at) == base);
    CHECK(get<unsigned int>(21, at) == e.plain);
    CHECK(status(0, at) == invalid);
    CHECK(status(99, at) == invalid);
}

} // namespace

TEST_CASE("attributes of an address are those recorded on an H200") {
    const DeviceMemory device(MiB);
    const ManagedMemory managed(MiB);
    const PinnedMemory pinned(MiB);
    Bytes own(MiB);
    const auto aligned = (reinterpret_cast<std::uintptr_t>(own.data()) + 4095) / 4096 * 4096;
    auto *registered = reinterpret_cast<void *>(aligned);
    REQUIRE(d.cuMemHostRegister(registered, 512 * KiB, 0) == good);
    for (const std::size_t offset : {std::size_t(0), std::size_t(100), 512 * KiB - 1}) {
        check(device, offset, {2, false, true, false, true, MiB, 2 * MiB});
        check(as_device(pinned), offset, {1, true, false, false, false, MiB, 2 * MiB});
        check(as_device(registered), offset, {1, true, false, false, false, 512 * KiB, 512 * KiB});
        check(managed, offset, {2, true, true, true, false, MiB, 2 * MiB});
    }
    REQUIRE(d.cuMemHostUnregister(registered) == good);
}

TEST_CASE("attributes of pool memory name the pool") {
    const PoolMemory memory(4096);
    synchronize();
    CHECK(get<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, memory) == nullptr);
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory) == 2);
    CHECK(get<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory) == default_pool());
    CHECK(get<unsigned int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory) == 0);
    CHECK(get<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory) == 4096);
    CHECK(get<std::size_t>(18, memory) == 32 * MiB); // mapped in blocks
}

TEST_CASE("an address that CUDA does not know has no attributes") {
    const CUdeviceptr freed = allocate(4096);
    release(freed);
    int local = 0;
    for (const CUdeviceptr address : {CUdeviceptr(0), as_device(&local), freed}) {
        for (int attribute = 1; attribute <= 21; ++attribute) {
            CHECK(status(attribute, address) == invalid);
        }
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
        CHECK(d.cuPointerGetAttributes(3, which, data, each.address) == good);
        CHECK(type == each.type);
        CHECK(ordinal == each.ordinal);
        CHECK(host == each.host);
    }
    CHECK(d.cuPointerGetAttributes(0, which, data, device) == invalid);
    CHECK(d.cuPointerGetAttributes(3, nullptr, data, device) == invalid);
    CHECK(d.cuPointerGetAttributes(3, which, nullptr, device) == invalid);
    which[1] = static_cast<CUpointer_attribute>(99);
    CHECK(d.cuPointerGetAttributes(3, which, data, device) == invalid);
    CHECK(d.cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device) == invalid);
}

TEST_CASE("SYNC_MEMOPS is the only attribute that can be set") {
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    const PinnedMemory pinned(64);
    constexpr auto sync = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
    const auto is_set = [](CUdeviceptr address) { return get<unsigned int>(sync, address); };
    const unsigned int yes = 1, no = 0;
    for (const CUdeviceptr address : {device + 0, managed + 0, as_device(pinned)}) {
        CHECK(is_set(address) == (address == managed ? 1 : 0)); // always set for managed memory
        CHECK(d.cuPointerSetAttribute(&yes, sync, address) == good);
        CHECK(is_set(address + 8) == 1);
        CHECK(d.cuPointerSetAttribute(&no, sync, address) == good);
        CHECK(is_set(address) == 0);
    }
    const Calls set(&Driver::cuPointerSetAttribute);
    set[invalid] = {{&yes, sync, as_device(&yes)},
                    {&yes, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device},
                    {&yes, static_cast<CUpointer_attribute>(99), device},
                    {nullptr, sync, device}};
    // Querying peer tokens also sets it.
    CHECK(status(CU_POINTER_ATTRIBUTE_P2P_TOKENS, device) == good);
    CHECK(is_set(device) == 1);
    CHECK(status(CU_POINTER_ATTRIBUTE_P2P_TOKENS, as_device(pinned)) == invalid);
    CHECK(is_set(as_device(pinned)) == 0);
}

TEST_CASE("without a context only the device pointer query fails") {
    const DeviceMemory device(64);
    const WithoutContext none;
    CUdeviceptr pointer = 9;
    CHECK(d.cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, device) ==
          CUDA_ERROR_INVALID_CONTEXT);
    CHECK(pointer == 0);
    CHECK(status(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, as_device(&pointer)) == invalid);
    for (const int attribute : {1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}) {
        CHECK(status(attribute, device) == good);
    }
    const unsigned int no = 0;
    CHECK(d.cuPointerSetAttribute(&no, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device) == good);
    CUpointer_attribute which[2] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    unsigned int type = 9;
    void *data[2] = {&type, &pointer};
    pointer = 9;
    CHECK(d.cuPointerGetAttributes(2, which, data, device) == good);
    CHECK(type == 2);
    CHECK(pointer == 0);
}
