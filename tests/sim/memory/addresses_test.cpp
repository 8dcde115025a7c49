// A process that has used up its addresses, which are never reused. POSIX only: addresses stay used
// for the life of the process, so each case runs in its own.
#include "../support/child_process.hpp"
#include "memory_tools.hpp"
#include "vmm_tools.hpp"

#ifndef _WIN32

using namespace sim_test;

namespace {

constexpr CUresult exhausted = CUDA_ERROR_OUT_OF_MEMORY;

CUresult try_reserve(std::size_t size) {
    CUdeviceptr address = 0;
    const CUresult status = driver().cuMemAddressReserve(&address, size, 0, 0, 0);
    if (status == CUDA_SUCCESS) {
        free_reserved(address, size);
    }
    return status;
}

// Attempts 2 MiB at a time until it fails.
void try_until_exhausted(CUresult (*attempt)(std::size_t)) {
    start();
    int rounds = 0;
    CUresult status = CUDA_SUCCESS;
    for (; status == CUDA_SUCCESS && rounds < 1000; ++rounds) {
        status = attempt(2 * MiB);
    }
    CHECK(status == exhausted);
    CHECK(rounds > 11);
    CHECK(rounds <= 33);
}

// A reservation of `size` bytes does not fit, a smaller one does.
void reserve_too_much(std::size_t size) {
    start();
    ok(try_allocate(20 * MiB));
    ok(try_allocate(20 * MiB));
    check_misuse(try_reserve(size), exhausted, "no room for " + std::to_string(size) + " bytes");
    ok(try_reserve(10 * MiB)); // the failed reservation kept no addresses
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

TEST_CASE("child has too few addresses for a reservation", "[.]") {
    reserve_too_much(16 * MiB);
}

TEST_CASE("child has too few addresses for the view of a reservation", "[.]") {
    reserve_too_much(24 * MiB);
}

TEST_CASE("child requests more addresses than exist", "[.]") {
    start();
    CHECK(try_reserve(GiB) == exhausted);
    CHECK(try_allocate(GiB) == exhausted);
    // Addresses of live memory are not wasted.
    const CUdeviceptr living = reserve(24 * MiB);
    CHECK(try_reserve(12 * MiB) == exhausted);
    free_reserved(living, 24 * MiB);
    ok(try_reserve(12 * MiB));
}

TEST_CASE("running out of addresses is reported as a misuse") {
    CHECK(passes("child allocates until no addresses are left"));
    CHECK(passes("child reserves until no addresses are left"));
    CHECK(passes("child has too few addresses for a reservation"));
    CHECK(passes("child has too few addresses for the view of a reservation"));
}

TEST_CASE("a request that exceeds all addresses is not reported as a misuse") {
    CHECK(passes("child requests more addresses than exist"));
}

#endif
