// Two real processes, external memory and semaphores. The hidden test cases are the second process
// of the others.
#ifndef _WIN32
#include "process_tools.hpp"

#include <chrono>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace sim_test;

TEST_CASE("child works on external memory", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory_description{};
    memory_description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    memory_description.handle.fd = parent.receive_fd();
    memory_description.size = size;
    CUexternalMemory memory = nullptr;
    REQUIRE(d.cuImportExternalMemory(&memory, &memory_description) == good);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer_description{};
    buffer_description.size = size;
    CUdeviceptr buffer = 0;
    REQUIRE(d.cuExternalMemoryGetMappedBuffer(&buffer, memory, &buffer_description) == good);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    description.handle.fd = parent.receive_fd();
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == good);

    // Frame by frame: waits for 2n - 1, adds one to the value there, signals 2n.
    const auto frames = parent.receive<unsigned int>();
    const Stream stream(non_blocking);
    unsigned int *pinned = nullptr;
    REQUIRE(d.cuMemAllocHost(reinterpret_cast<void **>(&pinned), sizeof *pinned) == good);
    for (unsigned int frame = 1; frame <= frames; ++frame) {
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
        wait.params.fence.value = 2 * frame - 1;
        REQUIRE(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream) == good);
        REQUIRE(d.cuMemcpyDtoHAsync(pinned, buffer, sizeof *pinned, stream) == good);
        REQUIRE(d.cuStreamSynchronize(stream) == good);
        ++*pinned;
        REQUIRE(d.cuMemcpyHtoDAsync(buffer, pinned, sizeof *pinned, stream) == good);
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
        signal.params.fence.value = 2 * frame;
        REQUIRE(d.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream) == good);
        // In adversarial mode nothing runs before somebody asks for it.
        REQUIRE(d.cuStreamSynchronize(stream) == good);
    }
    CHECK(d.cuMemFreeHost(pinned) == good);
    CHECK(d.cuMemFree(buffer) == good);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == good);
}

TEST_CASE("two processes take turns on external memory") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0);
    const std::size_t size = 4096;
    const int fd = sim_control().make_memory_fd(size);
    auto *shared =
        static_cast<unsigned int *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    REQUIRE(shared != MAP_FAILED);
    Child child("child works on external memory", mode);
    auto &c = child.channel();
    c.send(size);
    c.send_fd(fd);
    c.send_fd(gate.fd);
    const unsigned int frames = 25;
    c.send(frames);
    for (unsigned int frame = 1; frame <= frames; ++frame) {
        shared[0] = 100 * frame;
        gate.set(2 * frame - 1);
        for (int i = 0; i < 20000 && gate.value() < 2 * frame; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        REQUIRE(gate.value() == 2 * frame);
        CHECK(shared[0] == 100 * frame + 1);
    }
    ended(child);
    munmap(shared, size);
    close(fd);
}

TEST_CASE("child exports physical memory", "[.]") {
    start();
    auto parent = Channel::of_parent();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    std::size_t size = 0;
    REQUIRE(d.cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
            good);
    CUmemGenericAllocationHandle physical = 0;
    REQUIRE(d.cuMemCreate(&physical, size, &properties, 0) == good);
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           0) == good);
    parent.send(size);
    parent.send_fd(fd);
    close(fd);
    parent.await(); // the other one wrote to it
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAddressReserve(&address, size, 0, 0, 0) == good);
    REQUIRE(d.cuMemMap(address, size, 0, physical, 0) == good);
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REQUIRE(d.cuMemSetAccess(address, size, &access, 1) == good);
    CHECK(byte_at(address + size - 1) == 0x3c);
    CHECK(d.cuMemUnmap(address, size) == good);
    CHECK(d.cuMemAddressFree(address, size) == good);
    CHECK(d.cuMemRelease(physical) == good);
}

TEST_CASE("physical memory of another process imports as external memory") {
    start();
    Child child("child exports physical memory");
    auto &c = child.channel();
    const auto size = c.receive<std::size_t>();
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = c.receive_fd();
    description.size = size;
    CUexternalMemory memory = nullptr;
    REQUIRE(d.cuImportExternalMemory(&memory, &description) == good);
    CHECK_FALSE(is_open(description.handle.fd));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
    part.size = size;
    CUdeviceptr buffer = 0;
    REQUIRE(d.cuExternalMemoryGetMappedBuffer(&buffer, memory, &part) == good);
    REQUIRE(d.cuMemsetD8(buffer, 0x3c, size) == good);
    REQUIRE(d.cuCtxSynchronize() == good);
    c.signal();
    ended(child);
    CHECK(byte_at(buffer) == 0x3c); // the exporter is gone, the memory is not
    CHECK(d.cuMemFree(buffer) == good);
    CHECK(d.cuDestroyExternalMemory(memory) == good);
}

TEST_CASE("child takes signals of a binary semaphore", "[.]") {
    start();
    auto parent = Channel::of_parent();
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = parent.receive_fd();
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == good);
    const Stream stream(non_blocking);
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    for (int i = 0; i < 50; ++i) {
        REQUIRE(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream) == good);
        REQUIRE(d.cuStreamSynchronize(stream) == good);
        parent.signal();
    }
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == good);
}

TEST_CASE("each signal of a binary semaphore lets one of two processes through") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0);
    Child one("child takes signals of a binary semaphore", mode);
    Child two("child takes signals of a binary semaphore", mode);
    one.channel().send_fd(gate.fd);
    two.channel().send_fd(gate.fd);
    for (int i = 0; i < 100; ++i) {
        int waited = 0;
        for (; gate.value() != 0 && waited < 30000; ++waited) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        REQUIRE(waited < 30000);
        gate.set(1);
    }
    ended(one);
    ended(two);
    CHECK(gate.value() == 0); // a hundred signals, a hundred waits
}
#endif
