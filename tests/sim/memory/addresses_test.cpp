// A process that has used its addresses up: none is used again, and that is reported. POSIX: an
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

// 2 MiB at a time, until there are no more.
void try_until_exhausted(CUresult (*attempt)(std::size_t)) {
    start();
    int rounds = 0;
    CUresult status = good;
    for (; status == good && rounds < 1000; ++rounds) {
        status = attempt(2 * MiB);
    }
    CHECK(status == exhausted);
    CHECK(rounds > 11);
    CHECK(rounds <= 33);
}

// A reservation of so many bytes does not fit where another does.
void reserve_too_much(std::size_t size) {
    start();
    CHECK(try_allocate(20 * MiB) == good);
    CHECK(try_allocate(20 * MiB) == good);
    CHECK(try_reserve(size) == exhausted);
    expect_misuse("no room for " + std::to_string(size) + " bytes");
    CHECK(try_reserve(10 * MiB) == good); // nothing was kept of the other
}

bool passes(const std::string &child) {
    return run_alone(child, "addresses=64MiB").status == 0;
}

} // namespace

TEST_CASE("child allocates until no addresses are left", "[.]") {
    try_until_exhausted(try_allocate);
    expect_misuse("device addresses are exhausted: this process has used 6");
}

TEST_CASE("child reserves until no addresses are left", "[.]") {
    try_until_exhausted(try_reserve);
    expect_misuse("freed memory and are never reused; no room for 2097152 bytes");
}

TEST_CASE("child has no addresses for the place of a reservation", "[.]") {
    reserve_too_much(16 * MiB);
}

TEST_CASE("child has no addresses for the view of a reservation", "[.]") {
    reserve_too_much(24 * MiB);
}

TEST_CASE("child wants more addresses than there ever were", "[.]") {
    start();
    CHECK(try_reserve(GiB) == exhausted);
    CHECK(try_allocate(GiB) == exhausted);
    // What lives has its addresses in use: that wastes none.
    const CUdeviceptr living = reserve(24 * MiB);
    CHECK(try_reserve(12 * MiB) == exhausted);
    free_reserved(living, 24 * MiB);
    CHECK(try_reserve(12 * MiB) == good);
}

TEST_CASE("a process that has used its addresses up is reported") {
    CHECK(passes("child allocates until no addresses are left"));
    CHECK(passes("child reserves until no addresses are left"));
    CHECK(passes("child has no addresses for the place of a reservation"));
    CHECK(passes("child has no addresses for the view of a reservation"));
}

TEST_CASE("a request for more than there ever were is not reported as waste") {
    CHECK(passes("child wants more addresses than there ever were"));
}

#else

TEST_CASE("a process that has used its addresses up is reported") {
    SKIP("needs child processes");
}

#endif
