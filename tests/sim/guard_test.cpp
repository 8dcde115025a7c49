// Bytes that a kernel writes beside an allocation, before its beginning and past its end.
#include "memory_tools.hpp"

#include <cstddef>
#include <utility>

using namespace sim_test;

namespace {

unsigned char *bytes_of(CUdeviceptr address, std::size_t size) {
    auto *bytes = static_cast<unsigned char *>(sim_control().view(address, size));
    REQUIRE(bytes != nullptr);
    return bytes;
}

// What is reported when the byte there, counted from the first of the allocation, is changed.
std::size_t reported(std::size_t size, std::ptrdiff_t offset, const char *text) {
    const CUdeviceptr before = allocate(size), address = allocate(size), behind = allocate(size);
    bytes_of(address, size)[offset] ^= 1;
    release(address);
    const std::size_t count = misuses().size();
    expect_misuse(text);
    release(behind);
    release(before);
    CHECK(misuses().size() == count); // the neighbours are whole
    sim_control().clear_misuses();
    return count;
}

} // namespace

TEST_CASE("every byte around a small allocation is guarded", "[guard]") {
    for (const std::ptrdiff_t offset : {-1, -2, -100, -150, -200, -256}) {
        start();
        INFO(offset);
        CHECK(reported(100, offset, "before the beginning of device memory") == 1);
    }
    for (const std::ptrdiff_t offset : {100, 101, 163, 200, 355, 356, 400, 411}) {
        start();
        INFO(offset);
        CHECK(reported(100, offset, "past the end of device memory") == 1);
    }
}

TEST_CASE("big allocations are guarded on both sides", "[guard]") {
    for (const std::size_t size : {4 * KiB, 64 * KiB, MiB, 20 * MiB}) {
        for (const auto &[offset, text] :
             {std::pair(std::ptrdiff_t(-1), "before the beginning of device memory"),
              std::pair(std::ptrdiff_t(-200), "before the beginning of device memory"),
              std::pair(static_cast<std::ptrdiff_t>(size), "past the end of device memory"),
              std::pair(static_cast<std::ptrdiff_t>(size) + 63, "past the end of device memory")}) {
            start();
            INFO(size << " bytes, offset " << offset);
            CHECK(reported(size, offset, text) == 1);
        }
    }
}

TEST_CASE("the rest of a page of host memory is guarded", "[guard]") {
    start();
    auto *pinned = static_cast<unsigned char *>(allocate_pinned(100));
    pinned[4095] ^= 1;
    release(pinned);
    expect_misuse("past the end of pinned host memory");
}

TEST_CASE("allocations of many sizes do not touch each other's guards", "[guard]") {
    start();
    std::vector<std::pair<CUdeviceptr, std::size_t>> all;
    for (std::size_t size = 1; size < 3 * MiB; size += size / 3 + 1) {
        all.emplace_back(allocate(size), size);
        REQUIRE(cu.cuMemsetD8(all.back().first, 0xff, size) == good);
    }
    for (std::size_t i = 0; i < all.size(); i += 2) {
        release(all[i].first);
        all[i].first = allocate(all[i].second);
        REQUIRE(cu.cuMemsetD8(all[i].first, 0xff, all[i].second) == good);
    }
    for (const auto &[address, size] : all) {
        release(address);
    }
    CHECK(misuses().empty());
}
