// Pinned host memory, allocated and registered.
#include "memory_kinds.hpp"

using namespace sim_test;

namespace {

constexpr auto registered_twice = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
               not_registered = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;

} // namespace

TEST_CASE("pinned memory has the same address on host and device") {
    const auto device_pointer = [](void *memory) {
        return got<CUdeviceptr>(&Driver::cuMemHostGetDevicePointer, out, memory, 0);
    };
    for (const std::size_t size : {std::size_t(1), std::size_t(5000), 3 * MiB}) {
        const PinnedMemory pinned(size);
        auto *memory = static_cast<unsigned char *>(pinned.get());
        std::memset(memory, 7, size);
        CHECK(device_pointer(memory) == as_device(memory));
        CHECK(device_pointer(memory + size - 1) == as_device(memory) + size - 1);
        CHECK(d.cuMemsetD8(as_device(memory), 9, size) == good);
        CHECK(memory[size - 1] == 9);
        CHECK(contents(as_device(memory), size) == Bytes(size, 9));
    }
    CUdeviceptr at = 0;
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    const PinnedMemory pinned(64);
    const Calls get(&Driver::cuMemHostGetDevicePointer); // of host memory only
    get[invalid] = {{&at, &at, 0},    {&at, nullptr, 0},         {nullptr, pinned, 0},
                    {&at, pinned, 1}, {&at, as_host(device), 0}, {&at, as_host(managed), 0}};
}

TEST_CASE("flags of host memory are reported") {
    std::vector<char> own(8192);
    char *half = own.data() + 4096;
    const auto flags_of = [](void *memory) {
        return got<unsigned int>(&Driver::cuMemHostGetFlags, out, memory);
    };
    const PinnedMemory all(100, 7), plain(100);
    CHECK(flags_of(plain) == CU_MEMHOSTALLOC_DEVICEMAP);
    CHECK(flags_of(all) == 7);
    CHECK(flags_of(static_cast<char *>(all.get()) + 5) == 7);
    const RegisteredMemory whole(own.data(), 4096);
    CHECK(flags_of(whole) == 2);
    CHECK(flags_of(RegisteredMemory(half, 4096, 3)) == 3);
    CHECK(flags_of(RegisteredMemory(half, 4096, 8)) == 2); // READ_ONLY is not reported
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    unsigned int flags = 0;
    CHECK(d.cuMemHostGetFlags(&flags, as_host(managed)) == good);
    Calls{&Driver::cuMemHostGetFlags}[invalid] = {
        {&flags, &own}, {&flags, as_host(device)}, {&flags, nullptr}, {nullptr, plain}};
}

TEST_CASE("registered ranges of pageable memory must not overlap") {
    std::vector<char> own(64 * KiB);
    char *at = own.data();
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    const PinnedMemory pinned(64);
    const Calls enter(&Driver::cuMemHostRegister);
    enter[good] = {{at + 3, 1001, 0}}; // unaligned
    enter[registered_twice] = {
        {at + 3, 1001, 0}, {at + 100, 16, 0}, {at, 4096, 0}, {at + 1003, 100, 0}};
    enter[good] = {{at + 1004, 100, 0}, {at, 3, 0}}; // disjoint, in the same page
    enter[invalid] = {{at + 4096, 0, 0},
                      {nullptr, 16, 0},
                      {at + 4096, 16, 0x100},
                      {at + 4096, 16, CU_MEMHOSTREGISTER_IOMEMORY},
                      {at + 4096, ~std::size_t(0), 0},
                      {pinned, 16, 0},
                      {as_host(managed), 16, 0},
                      {as_host(device), 16, 0},
                      {as_host(device + 4096), 16, 0}, // an unused device address
                      {reinterpret_cast<void *>(0x10000), 4096, 0}};
    CHECK(d.cuMemHostUnregister(at + 3) == good);
    CHECK(d.cuMemHostUnregister(at + 3) == not_registered);
    CHECK(d.cuMemHostUnregister(&own) == not_registered);
    CHECK(d.cuMemHostUnregister(nullptr) == invalid);
    CHECK(d.cuMemHostUnregister(at) == good);
    CHECK(d.cuMemHostUnregister(at + 1004) == good);
    // Unregistered memory is plain memory again and can be registered again.
    CHECK(d.cuMemcpyHtoD(device, at, 64) == good);
    const RegisteredMemory again(at, 64);
}

TEST_CASE("pinned allocation needs a context, freeing does not") {
    std::vector<char> own(4096);
    REQUIRE(d.cuMemHostRegister(own.data(), 64, 0) == good);
    void *pinned = allocate_pinned(64), *memory = &memory;
    const Calls allocate(&Driver::cuMemHostAlloc);
    const Calls allocate_plain(&Driver::cuMemAllocHost);
    CHECK(got(d.cuMemHostAlloc(&memory, 0, 0), memory) == nullptr);
    memory = &memory;
    CHECK(got(d.cuMemAllocHost(&memory, 0), memory) == nullptr);
    allocate[invalid] = {{&memory, 16, 0x100}, {nullptr, 16, 0}};
    allocate_plain[invalid] = {{nullptr, 16}};
    allocate[CUDA_ERROR_OUT_OF_MEMORY] = {{&memory, std::size_t(1) << 50, 0}};
    allocate_plain[CUDA_ERROR_OUT_OF_MEMORY] = {{&memory, ~std::size_t(0)}};
    CHECK(memory != nullptr);
    const WithoutContext none;
    CUdeviceptr device = 0;
    unsigned int flags = 0;
    constexpr auto no_context = CUDA_ERROR_INVALID_CONTEXT;
    allocate[no_context] = {{&memory, 64, 0}, {&memory, 0, 0}};
    allocate_plain[no_context] = {{&memory, 64}};
    CHECK(d.cuMemHostRegister(own.data() + 64, 64, 0) == no_context);
    CHECK(d.cuMemHostGetDevicePointer(&device, pinned, 0) == no_context);
    CHECK(d.cuMemHostGetFlags(&flags, pinned) == no_context);
    CHECK(d.cuMemFreeHost(nullptr) == good);
    CHECK(d.cuMemFreeHost(pinned) == good);
    CHECK(d.cuMemHostUnregister(own.data()) == good);
    CHECK(d.cuMemHostUnregister(own.data()) == not_registered);
}

TEST_CASE("unregistering memory that enqueued work needs is a misuse") {
    start("mode=adversarial");
    std::vector<char> own(4096);
    const DeviceMemory device(4096);
    const Stream stream(non_blocking);
    REQUIRE(d.cuMemHostRegister(own.data(), own.size(), 0) == good);
    REQUIRE(d.cuMemcpyHtoDAsync(device, own.data(), own.size(), stream) == good);
    CHECK(reported(d.cuMemHostUnregister(own.data()), "registered host memory") == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
}
