// Two real processes, external memory and semaphores. The hidden test cases are the second process of the
// others.
#ifndef _WIN32
#include "process_tools.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <chrono>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sim_test;

TEST_CASE("child works on external memory", "[.]") {
    start();
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory_description{};
    memory_description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    memory_description.handle.fd = parent.receive_fd();
    memory_description.size = size;
    CUexternalMemory memory = nullptr;
    REQUIRE(d.cuImportExternalMemory(&memory, &memory_description) == CUDA_SUCCESS);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer_description{};
    buffer_description.size = size;
    CUdeviceptr buffer = 0;
    REQUIRE(d.cuExternalMemoryGetMappedBuffer(&buffer, memory, &buffer_description) ==
            CUDA_SUCCESS);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    description.handle.fd = parent.receive_fd();
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == CUDA_SUCCESS);

    // Frame by frame: waits for 2n - 1, adds one to the value there, signals 2n.
    const auto frames = parent.receive<unsigned int>();
    const auto stream = new_stream();
    unsigned int *pinned = nullptr;
    REQUIRE(d.cuMemAllocHost(reinterpret_cast<void **>(&pinned), sizeof *pinned) == CUDA_SUCCESS);
    for (unsigned int frame = 1; frame <= frames; ++frame) {
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
        wait.params.fence.value = 2 * frame - 1;
        REQUIRE(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream) == CUDA_SUCCESS);
        REQUIRE(d.cuMemcpyDtoHAsync(pinned, buffer, sizeof *pinned, stream) == CUDA_SUCCESS);
        REQUIRE(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
        ++*pinned;
        REQUIRE(d.cuMemcpyHtoDAsync(buffer, pinned, sizeof *pinned, stream) == CUDA_SUCCESS);
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
        signal.params.fence.value = 2 * frame;
        REQUIRE(d.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream) == CUDA_SUCCESS);
        // In adversarial mode nothing runs before somebody asks for it.
        REQUIRE(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    }
    end(stream);
    CHECK(d.cuMemFreeHost(pinned) == CUDA_SUCCESS);
    CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == CUDA_SUCCESS);
}

TEST_CASE("two processes take turns on external memory", "[processes]") {
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
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    std::size_t size = 0;
    REQUIRE(d.cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
            CUDA_SUCCESS);
    CUmemGenericAllocationHandle physical = 0;
    REQUIRE(d.cuMemCreate(&physical, size, &properties, 0) == CUDA_SUCCESS);
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           0) == CUDA_SUCCESS);
    parent.send(size);
    parent.send_fd(fd);
    close(fd);
    parent.await(); // the other one wrote to it
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAddressReserve(&address, size, 0, 0, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuMemMap(address, size, 0, physical, 0) == CUDA_SUCCESS);
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REQUIRE(d.cuMemSetAccess(address, size, &access, 1) == CUDA_SUCCESS);
    CHECK(byte_at(address + size - 1) == 0x3c);
    CHECK(d.cuMemUnmap(address, size) == CUDA_SUCCESS);
    CHECK(d.cuMemAddressFree(address, size) == CUDA_SUCCESS);
    CHECK(d.cuMemRelease(physical) == CUDA_SUCCESS);
}

TEST_CASE("physical memory of another process imports as external memory", "[processes]") {
    start();
    const auto &d = cushim::driver();
    Child child("child exports physical memory");
    auto &c = child.channel();
    const auto size = c.receive<std::size_t>();
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = c.receive_fd();
    description.size = size;
    CUexternalMemory memory = nullptr;
    REQUIRE(d.cuImportExternalMemory(&memory, &description) == CUDA_SUCCESS);
    CHECK_FALSE(is_open(description.handle.fd));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
    part.size = size;
    CUdeviceptr buffer = 0;
    REQUIRE(d.cuExternalMemoryGetMappedBuffer(&buffer, memory, &part) == CUDA_SUCCESS);
    REQUIRE(d.cuMemsetD8(buffer, 0x3c, size) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSynchronize() == CUDA_SUCCESS);
    c.signal();
    ended(child);
    CHECK(byte_at(buffer) == 0x3c); // the exporter is gone, the memory is not
    CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
}

TEST_CASE("child takes signals of a binary semaphore", "[.]") {
    start();
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = parent.receive_fd();
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == CUDA_SUCCESS);
    const auto stream = new_stream();
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    for (int i = 0; i < 50; ++i) {
        REQUIRE(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream) == CUDA_SUCCESS);
        REQUIRE(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
        parent.signal();
    }
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == CUDA_SUCCESS);
    end(stream);
}

TEST_CASE("each signal of a binary semaphore lets one of two processes through", "[processes]") {
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
