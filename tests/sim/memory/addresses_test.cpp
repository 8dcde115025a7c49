// A process that has used its addresses up: none is used again, and it is told so. POSIX: an
// address that was given out stays so for the life of the process, so each case is one of its own.
#include "../support/child_process.hpp"
#include "memory_tools.hpp"
#include "vmm_tools.hpp"

#ifndef _WIN32

using namespace sim_test;

namespace {

constexpr CUresult exhausted = CUDA_ERROR_OUT_OF_MEMORY;

CUresult try_reserve(std::size_t size) {
    CUdeviceptr address = 0;
    const CUresult status = d.cuMemAddressReserve(&address, size, 0, 0, 0);
    if (status == good) {
        free_reserved(address, size);
    }
    return status;
}

CUresult try_allocate(std::size_t size) {
    CUdeviceptr address = 0;
    const CUresult status = d.cuMemAlloc(&address, size);
    if (status == good) {
        release(address);
    }
    return status;
}

// How often it could be had; what it was refused with at last must be that there are no more.
template <class Try>
int rounds_until_exhausted(Try attempt) {
    int rounds = 0;
    CUresult status = good;
    for (; status == good && rounds < 1000; ++rounds) {
        status = attempt();
    }
    CHECK(status == exhausted);
    return rounds - 1;
}

bool passes(const std::string &child) {
    return run_alone(child, "addresses=64MiB").status == 0;
}

} // namespace

TEST_CASE("child allocates until no addresses are left", "[.]") {
    start();
    const int rounds = rounds_until_exhausted([] { return try_allocate(2 * MiB); });
    CHECK(rounds > 10);
    CHECK(rounds <= 32);
    expect_misuse("device addresses are exhausted: this process has used 6");
}

TEST_CASE("child reserves until no addresses are left", "[.]") {
    start();
    const int rounds = rounds_until_exhausted([] { return try_reserve(2 * MiB); });
    CHECK(rounds > 10);
    CHECK(rounds <= 32);
    expect_misuse("freed memory and are never reused; no room for 2097152 bytes");
}

TEST_CASE("child has no addresses for the place of a reservation", "[.]") {
    start();
    CHECK(try_allocate(20 * MiB) == good);
    CHECK(try_allocate(20 * MiB) == good);
    CHECK(try_reserve(16 * MiB) == exhausted);
    expect_misuse("no room for 16777216 bytes");
    CHECK(try_reserve(10 * MiB) == good); // nothing was kept of the other
}

TEST_CASE("child has no addresses for the view of a reservation", "[.]") {
    start();
    CHECK(try_allocate(20 * MiB) == good);
    CHECK(try_allocate(20 * MiB) == good);
    CHECK(try_reserve(24 * MiB) == exhausted);
    expect_misuse("no room for 25165824 bytes");
    CHECK(try_reserve(10 * MiB) == good);
}

TEST_CASE("child wants more addresses than there ever were", "[.]") {
    start();
    CHECK(try_reserve(GiB) == exhausted);
    CHECK(try_allocate(GiB) == exhausted);
    // What lives has its addresses in use: that is no waste of theirs.
    const CUdeviceptr living = reserve(24 * MiB);
    CHECK(try_reserve(12 * MiB) == exhausted);
    free_reserved(living, 24 * MiB);
    CHECK(try_reserve(12 * MiB) == good);
}

TEST_CASE("a process that has used its addresses up is told so") {
    CHECK(passes("child allocates until no addresses are left"));
    CHECK(passes("child reserves until no addresses are left"));
    CHECK(passes("child has no addresses for the place of a reservation"));
    CHECK(passes("child has no addresses for the view of a reservation"));
}

TEST_CASE("who wants more than there ever were is not told of waste") {
    CHECK(passes("child wants more addresses than there ever were"));
}

#else

TEST_CASE("a process that has used its addresses up is told so") {
    SKIP("needs child processes");
}

#endif
