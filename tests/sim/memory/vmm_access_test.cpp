// Who may read and write mapped memory: devices, the host, and nobody.
#include "memory_tools.hpp"
#include "vmm_tools.hpp"

using namespace sim_test;

namespace {
constexpr std::size_t G = default_granularity;

} // namespace

TEST_CASE("a mapping has no access until it is given") {
    start();
    const PhysicalMemory memory(G, on_device());
    const auto address = reserve(2 * G);
    CHECK(try_write(address) == invalid);
    map(address, G, memory);
    CHECK(access_of(address) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CHECK(try_write(address) == invalid);
    CHECK(try_read(address) == invalid);
    CHECK(d.cuMemsetD8(address, 1, 16) == invalid);
    CHECK(sim_control().view(address, 4) == nullptr);
    // A refused call is no fault of the device: the context works on.
    CHECK(d.cuCtxSynchronize() == good);

    const auto access = grant();
    CHECK(d.cuMemSetAccess(address, G, &access, 0) == invalid);
    CHECK(d.cuMemSetAccess(address, G, nullptr, 1) == invalid);
    CHECK(d.cuMemSetAccess(address, 0, &access, 1) == invalid);
    CHECK(d.cuMemSetAccess(address, 2 * G, &access, 1) == invalid); // not all mapped
    CHECK(d.cuMemSetAccess(address + G, G, &access, 1) == invalid);
    CHECK(d.cuMemSetAccess(address, G / 2, &access, 1) == invalid);
    CHECK(try_write(address) == invalid);
    CHECK(d.cuMemSetAccess(address, G, &access, 1) == good);
    CHECK(try_write(address) == good);
    CHECK(try_write(address + G - 2) == invalid); // over the end of what is mapped
    CHECK(try_write(address + G) == invalid);

    // Unmapping takes the access away.
    unmap(address, G);
    CHECK(try_write(address) == invalid);
    map(address, G, memory);
    CHECK(try_write(address) == invalid);
    unmap(address, G);
    free_reserved(address, 2 * G);
}

TEST_CASE("access can be read-only, and be taken away again") {
    start();
    Mapped memory(G);
    write(memory.address, 77);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READ) == good);
    CHECK(access_of(memory.address + 5) == CU_MEM_ACCESS_FLAGS_PROT_READ);
    CHECK(read(memory.address) == 77);
    CHECK(try_write(memory.address) == invalid);
    CHECK(d.cuMemsetD32(memory.address, 1, 1) == invalid);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_NONE) == good);
    CHECK(try_read(memory.address) == invalid);
    CHECK(set_access(memory.address, G, static_cast<CUmemAccess_flags>(2)) == invalid);
    CHECK(set_access(memory.address, G, static_cast<CUmemAccess_flags>(4)) == invalid);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == good);
    CHECK(read(memory.address) == 77);
    CHECK(try_write(memory.address) == good);
}

TEST_CASE("access that is taken away while queued work needs it is told") {
    start("mode=adversarial;devices=2;stall=0");
    const auto flags = GENERATE(CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ);
    Mapped memory(G), other(G);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 1) == good);
    const CUstream stream = make_stream(non_blocking);
    REQUIRE(d.cuMemsetD8Async(memory.address, 7, 16, stream) == good);
    // Of others, and for others: not a word.
    REQUIRE(set_access(other.address, G, CU_MEM_ACCESS_FLAGS_PROT_NONE) == good);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_NONE, 1) == good);
    CHECK(misuses().empty());
    REQUIRE(set_access(memory.address, G, flags) == good);
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        expect_misuse("the access of device 0 to a part of");
    }
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("enqueued work uses memory that its device cannot access");
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("a copy may go over the border of two mappings") {
    start();
    const PhysicalMemory first(G, on_device()), second(G, on_device());
    const auto address = reserve(2 * G);
    map(address, G, first);
    map(address + G, G, second);
    allow(address, 2 * G);
    write(address + G - 2, 0xaabbccdd);
    CHECK(read(address + G - 2) == 0xaabbccdd);
    REQUIRE(set_access(address + G, G, CU_MEM_ACCESS_FLAGS_PROT_READ) == good);
    CHECK(try_write(address + G - 2) == invalid);
    CHECK(try_read(address + G - 2) == good);
    unmap(address, 2 * G);
    free_reserved(address, 2 * G);
}

TEST_CASE("each device has its own access") {
    start("devices=3");
    const PhysicalMemory memory(G, on_device(1));
    const auto address = reserve(G);
    map(address, G, memory);
    const CUmemAccessDesc both[] = {grant(0, CU_MEM_ACCESS_FLAGS_PROT_READ), grant(1)};
    REQUIRE(d.cuMemSetAccess(address, G, both, 2) == good);
    CHECK(access_of(address, 0) == CU_MEM_ACCESS_FLAGS_PROT_READ);
    CHECK(access_of(address, 1) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(access_of(address, 2) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    unsigned long long flags = 0;
    CUmemLocation where = grant(3).location;
    CHECK(d.cuMemGetAccess(&flags, &where, address) == invalid);
    where = grant(0).location;
    CHECK(d.cuMemGetAccess(nullptr, &where, address) == invalid);
    CHECK(d.cuMemGetAccess(&flags, nullptr, address) == invalid);
    CHECK(d.cuMemGetAccess(&flags, &where, address + G) == invalid);
    // All or nothing.
    const CUmemAccessDesc partly[] = {grant(2), grant(7)};
    CHECK(d.cuMemSetAccess(address, G, partly, 2) == invalid);
    CHECK(access_of(address, 2) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    unmap(address, G);
    free_reserved(address, G);
}

TEST_CASE("a device without peer access is given none") {
    start("devices=2;peers=none");
    const PhysicalMemory memory(G, on_device(1));
    const auto address = reserve(G);
    map(address, G, memory);
    CHECK(set_access(address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 0) ==
          CUDA_ERROR_INVALID_DEVICE);
    CHECK(set_access(address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 1) == good);
    unmap(address, G);
    free_reserved(address, G);
}

TEST_CASE("what a device may not touch is refused to its copies and memsets at once") {
    start("devices=2;" + std::string(GENERATE(from_range(all_modes()))));
    const auto flags = GENERATE(CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ,
                                CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    const CUresult to_read = flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? invalid : good;
    const CUresult to_write = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? good : invalid;
    Mapped memory(G, on_device(0));
    write(memory.address, 77);
    REQUIRE(d.cuCtxSynchronize() == good);
    REQUIRE(set_access(memory.address, G, flags, 1) == good);
    CUcontext other = retain_primary(1);
    REQUIRE(d.cuCtxPushCurrent(other) == good);
    const CUdeviceptr own = allocate(16);
    std::uint32_t words[4] = {};
    CHECK(d.cuMemcpyDtoH(words, memory.address, 16) == to_read);
    CHECK(d.cuMemcpyDtoHAsync(words, memory.address, 16, nullptr) == to_read);
    CHECK(d.cuMemcpyDtoD(own, memory.address, 16) == to_read);
    CHECK(d.cuMemcpyDtoDAsync(own, memory.address, 16, nullptr) == to_read);
    CHECK(d.cuMemcpyHtoD(memory.address, words, 16) == to_write);
    CHECK(d.cuMemcpyHtoDAsync(memory.address, words, 16, nullptr) == to_write);
    CHECK(d.cuMemcpyDtoD(memory.address, own, 16) == to_write);
    CHECK(d.cuMemcpyDtoDAsync(memory.address, own, 16, nullptr) == to_write);
    CHECK(d.cuMemsetD8(memory.address, 1, 16) == to_write);
    CHECK(d.cuMemsetD8Async(memory.address, 1, 16, nullptr) == to_write);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, memory.address, 0x01010101, 0) == to_write);
    CHECK(d.cuCtxSynchronize() == good); // nothing is lost by it
    CHECK(d.cuMemFree(own) == good);
    CHECK(misuses().empty());
    CHECK(d.cuCtxPopCurrent(&other) == good);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
    const std::uint32_t written = to_write == good ? 0x01010101 : 77;
    CHECK(read(memory.address) == written);
}

TEST_CASE("an address tells its mapping, as long as somebody has access") {
    start("devices=2");
    const PhysicalMemory memory(G, on_device(1));
    const auto address = reserve(4 * G);
    map(address + 2 * G, G, memory);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CHECK(d.cuMemGetAddressRange(&base, &size, address + 2 * G + 8) == CUDA_ERROR_NOT_FOUND);
    allow(address + 2 * G, G);
    CHECK(got(d.cuMemGetAddressRange(&base, &size, address + 2 * G + 8), base) == address + 2 * G);
    CHECK(size == G);
    CHECK(d.cuMemGetAddressRange(&base, &size, address) == CUDA_ERROR_NOT_FOUND);
    CHECK(got<int>(&Driver::cuPointerGetAttribute, out, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                   address + 2 * G) == 1);
    unmap(address, 4 * G);
    free_reserved(address, 4 * G);
}

TEST_CASE("an address tells its reservation as its range, and its mapping as such") {
    start();
    const PhysicalMemory memory(G, on_device());
    const auto address = reserve(4 * G);
    map(address + 2 * G, G, memory);
    allow(address + 2 * G, G);
    const auto number = [&](int attribute) {
        unsigned long long value = 0;
        CHECK(d.cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(attribute),
                                      address + 2 * G + 8) == good);
        return value;
    };
    constexpr int mapping_size = 18, mapping_base = 19;
    CHECK(number(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) == address);
    CHECK(number(CU_POINTER_ATTRIBUTE_RANGE_SIZE) == 4 * G);
    CHECK(number(mapping_base) == address + 2 * G);
    CHECK(number(mapping_size) == G);
    unmap(address + 2 * G, G);
    free_reserved(address, 4 * G);
}

#ifndef _WIN32
TEST_CASE("the host cannot touch mapped device memory") {
    start();
    Mapped memory(G);
    CHECK(is_deadly(as_host(memory.address), true));
    void *view = sim_control().view(memory.address, G);
    REQUIRE(view != nullptr);
    CHECK(!is_deadly(view, true));
}

TEST_CASE("the simulator's own view is protected as the access says") {
    start();
    Mapped memory(G);
    const void *view = sim_control().view(memory.address, G);
    REQUIRE(view != nullptr);
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READ) == good);
    CHECK(!is_deadly(view));
    CHECK(is_deadly(view, true));
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_NONE) == good);
    CHECK(is_deadly(view));
    REQUIRE(set_access(memory.address, G, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == good);
    CHECK(!is_deadly(view, true));
    unmap(memory.address, G);
    CHECK(is_deadly(view));
}

TEST_CASE("memory of the host can be mapped for both") {
    start();
    auto properties = on_device();
    properties.location.type = static_cast<CUmemLocationType>(GENERATE(2, 3)); // HOST, HOST_NUMA
    properties.location.id = 0;
    const auto before = free_memory();
    Mapped memory(G, properties);
    CHECK(free_memory() == before); // none of the device's
    CHECK(is_deadly(as_host(memory.address), true));
    CUmemAccessDesc access{.location = properties.location,
                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    REQUIRE(d.cuMemSetAccess(memory.address, G, &access, 1) == good);
    auto *host = reinterpret_cast<std::uint32_t *>(static_cast<std::uintptr_t>(memory.address));
    host[3] = 0xfeed;
    CHECK(read(memory.address + 12) == 0xfeed);
    write(memory.address + 16, 0xbeef);
    CHECK(host[4] == 0xbeef);
    unsigned long long flags = 0;
    CHECK(d.cuMemGetAccess(&flags, &access.location, memory.address) == good);
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    REQUIRE(d.cuMemSetAccess(memory.address, G, &access, 1) == good);
    CHECK(is_deadly(as_host(memory.address), true));
    CHECK(host[4] == 0xbeef);
    unmap(memory.address, G);
    CHECK(is_deadly(as_host(memory.address), true));
}
#endif

TEST_CASE("memory of the host: what is refused") {
    start();
    CUmemGenericAllocationHandle handle = 0;
    auto properties = on_device();
    properties.location.type = static_cast<CUmemLocationType>(2);
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
    properties = on_device();
    properties.location.type = static_cast<CUmemLocationType>(3);
    properties.location.id = 1; // a node that is not there
    CHECK(d.cuMemCreate(&handle, G, &properties, 0) == invalid);
    Mapped memory(G);
    CUmemAccessDesc access = grant();
    access.location.type = static_cast<CUmemLocationType>(2);
    CHECK(d.cuMemSetAccess(memory.address, G, &access, 1) == invalid);
    access.location.type = static_cast<CUmemLocationType>(9);
    CHECK(d.cuMemSetAccess(memory.address, G, &access, 1) == invalid);
}
