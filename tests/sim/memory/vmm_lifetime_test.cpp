// Physical memory, mappings and reservations: lifetime, budget, leaks, enqueued work.
#include "../support/contains.hpp"
#include "vmm_ranges.hpp"

#include <algorithm>

using namespace sim_test;

TEST_CASE("released memory stays alive while it is mapped") {
    const auto before = free_memory();
    const auto memory = create_memory(G, on_device());
    CHECK(free_memory() == before - G);
    const Reservation address(G);
    map(address, G, memory);
    ok(driver().cuMemRelease(memory));
    allow(address, G); // still possible
    write(address, 5);
    CHECK(read(address) == 5);
    CHECK(driver().cuMemAddressFree(address, G) == invalid); // still mapped
    CHECK(free_memory() == before - G);

    const auto retained = got<CUmemGenericAllocationHandle>(&Driver::cuMemRetainAllocationHandle,
                                                            out, as_host(address + 12345));
    CHECK(retained == memory); // the same handle
    ok(driver().cuMemUnmap(address, G));
    CHECK(leaks().size() == 2); // the memory and the reservation
    CHECK(free_memory() == before - G);
    ok(driver().cuMemRelease(retained));
    CHECK(free_memory() == before);
    CHECK(reported(driver().cuMemRelease(retained), "use of a destroyed physical memory") ==
          invalid);
}

TEST_CASE("the last unmap frees released memory") {
    const auto before = free_memory();
    const auto memory = create_memory(G, on_device());
    const Reservation address(2 * G);
    map(address, G, memory);
    map(address + G, G, memory);
    release_physical(memory);
    CHECK(reported(driver().cuMemRelease(memory), "use of a released physical memory") == invalid);
    CHECK(driver().cuMemMap(address, G, 0, memory, 0) == invalid);
    expect_misuse("use of a released physical memory");
    unmap(address, G);
    CHECK(free_memory() == before - G);
    unmap(address + G, G);
    CHECK(free_memory() == before);
}

TEST_CASE("an invalid memory handle fails and is reported") {
    const Stream stream;
    const auto as_handle =
        static_cast<CUmemGenericAllocationHandle>(reinterpret_cast<std::uintptr_t>(stream.get()));
    CHECK(driver().cuMemRelease(as_handle) == invalid);
    expect_misuse("a physical memory handle was expected, but this is stream");
    CHECK(driver().cuMemRelease(0) == invalid);
    CHECK(reported(driver().cuMemRelease(12345), "is not a physical memory handle") == invalid);
}

TEST_CASE("physical memory counts against the budget of its device") {
    start("devices=2;budget=8MiB");
    {
        const PhysicalMemory half(2 * G, on_device());
        CHECK(try_create(3 * G) == CUDA_ERROR_OUT_OF_MEMORY);
        const PhysicalMemory rest(2 * G, on_device());
        CHECK(try_create(G) == CUDA_ERROR_OUT_OF_MEMORY);
        ok(try_create(4 * G, on_device(1))); // another device has its own budget
    }
    ok(try_create(4 * G));
    const Reservation costs_nothing(64 * GiB);
}

TEST_CASE("the granularity may be any multiple of 64 KiB") {
    const std::size_t bytes = GENERATE(64 * KiB, 3 * MiB, 5 * MiB);
    start("granularity=" + std::to_string(bytes));
    const auto properties = on_device();
    REQUIRE(got<std::size_t>(&Driver::cuMemGetAllocationGranularity, out, &properties,
                             CU_MEM_ALLOC_GRANULARITY_MINIMUM) == bytes);
    CHECK(try_create(bytes + 4096) == invalid);
    const PhysicalMemory first(bytes, properties), second(2 * bytes, properties);
    const Reservation address(4 * bytes, 2 * MiB);
    CHECK(address % bytes == 0);
    CHECK(address % (2 * MiB) == 0);
    CHECK(driver().cuMemMap(address + 65536 / 2, bytes, 0, first, 0) == invalid);
    map(address, bytes, first);
    map(address + bytes, 2 * bytes, second);
    allow(address, 3 * bytes);
    for (const CUdeviceptr at : {address + bytes - 2, address + 3 * bytes - 4}) {
        write(at, 0x11223344);
        CHECK(read(at) == 0x11223344);
    }
    CHECK(try_write(address + 3 * bytes - 2) == invalid);
    CHECK(driver().cuMemUnmap(address + bytes, bytes) == invalid);
}

TEST_CASE("thousands of mappings need few file descriptors") {
    start("granularity=64KiB");
    constexpr std::size_t step = 64 * KiB;
    const Reservation address(3000 * step);
    for (std::size_t i = 0; i != 1500; ++i) {
        const PhysicalMemory memory(step, on_device());
        map(address + i * step, step, memory);
    }
    allow(address, 1500 * step);
    write(address + 1499 * step, 3);
    CHECK(read(address + 1499 * step) == 3);
}

TEST_CASE("physical memory, mappings and reservations that remain are leaks") {
    {
        const PhysicalMemory memory(G, on_device());
        const Reservation address(2 * G);
        map(address, G, memory);
        const auto lines = leaks();
        CHECK(lines.size() == 3);
        for (const auto &[what, maker] : {std::pair{"physical memory", "made by cuMemCreate"},
                                          {"memory mapping", "made by cuMemMap"},
                                          {"address reservation", "made by cuMemAddressReserve"}}) {
            CHECK(std::count_if(lines.begin(), lines.end(),
                                [&what = what, &maker = maker](const std::string &line) {
                                    return support::contains(line, what) &&
                                           support::contains(line, maker);
                                }) == 1);
        }
    }
    CHECK(leaks().empty());
}

TEST_CASE("resetting the simulator frees physical memory, mappings and reservations") {
    const auto memory = create_memory(G, on_device());
    const auto address = reserve(2 * G);
    map(address, G, memory);
    allow(address, G);
    release_physical(memory);
    start();
    CHECK(leaks().empty());
    CHECK(try_write(address) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(driver().cuMemAddressFree(address, 2 * G) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("unmapping waits for enqueued work, in adversarial mode the work fails") {
    const std::string mode = GENERATE(from_range(all_modes()));
    start(mode);
    const PhysicalMemory memory(G, on_device());
    const Reservation address(2 * G);
    map(address, G, memory);
    map(address + G, G, memory);
    allow(address, 2 * G);
    CUstream stream = make_stream(non_blocking);
    require_ok(driver().cuMemsetD32Async(address, 7, G / 4, stream));
    if (mode.find("adversarial") == std::string::npos) {
        unmap(address, G);
        ok(driver().cuStreamSynchronize(stream));
        CHECK(read(address + G) == 7); // the alias shows that the work has run
    } else {
        unmap(address + G, G); // no work uses this part
        unmap(address, G);
        expect_misuse("is unmapped while 1 enqueued operation needs it");
        CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        expect_misuse("enqueued work uses memory that its device cannot access");
        CHECK(driver().cuStreamDestroy(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        ok(driver().cuDevicePrimaryCtxReset(0));
        stream = nullptr;
    }
    if (stream != nullptr) {
        destroy(stream);
    }
}

TEST_CASE("unmapping any part of memory that enqueued work needs is a misuse") {
    start("mode=adversarial;stall=0;seed=" + std::to_string(GENERATE(range(0, 8))));
    const bool copies = GENERATE(false, true);
    const PhysicalMemory first(G, on_device()), second(G, on_device());
    const Reservation address(3 * G);
    for (std::size_t i = 0; i != 3; ++i) {
        map(address + i * G, G, i == 0 ? first : second);
    }
    allow(address, 3 * G);
    const PinnedMemory pinned(2 * G);
    const Stream stream(non_blocking);
    const CUdeviceptr begin = address + G - 16; // the last bytes of the first mapping
    const std::size_t bytes = GENERATE(std::size_t(16), std::size_t(17), G + 16);
    ok((copies ? driver().cuMemcpyHtoDAsync(begin, pinned, bytes, stream)
               : driver().cuMemsetD8Async(begin, 7, bytes, stream)));
    unmap(address + 2 * G, G); // not used by the work
    CHECK(misuses().empty());
    unmap(address + G, G);
    map(address + G, G, first); // the work succeeds with other memory
    allow(address + G, G);
    if (bytes > 16) {
        expect_misuse("is unmapped while 1 enqueued operation needs it");
    }
    ok(driver().cuStreamSynchronize(stream));
}

TEST_CASE("threads can map and unmap concurrently") {
    start("mode=threaded");
    const Reservation address(8 * G);
    const auto properties = on_device();
    const auto access = grant();
    CHECK(in_threads([&](std::size_t t) {
              const CUdeviceptr own = address + 2 * t * G;
              int failures = 0;
              for (int i = 0; i != 50; ++i) {
                  CUmemGenericAllocationHandle memory = 0;
                  failures += driver().cuMemCreate(&memory, G, &properties, 0) != CUDA_SUCCESS;
                  failures += driver().cuMemMap(own, G, 0, memory, 0) != CUDA_SUCCESS;
                  failures += driver().cuMemRelease(memory) != CUDA_SUCCESS;
                  failures += driver().cuMemSetAccess(own, G, &access, 1) != CUDA_SUCCESS;
                  failures += driver().cuMemUnmap(own, G) != CUDA_SUCCESS;
              }
              return failures;
          }) == std::vector<int>(4, 0));
}
