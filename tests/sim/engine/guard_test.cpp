// Bytes that a kernel writes before the beginning or past the end of an allocation.
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

// Whether changing the byte at `offset` in an allocation of `size` bytes is reported exactly once.
bool is_reported(std::size_t size, std::ptrdiff_t offset, const char *text) {
    const std::size_t before = misuses().size();
    const CUdeviceptr first = allocate(size), address = allocate(size), last = allocate(size);
    view(address, size)[offset] ^= 1;
    release(address);
    release(last);
    release(first);
    expect_misuse(text);
    return misuses().size() == before + 1; // the neighbours are intact
}

} // namespace

TEST_CASE("a write next to a small allocation is reported") {
    for (const std::ptrdiff_t offset : {-1, -2, -100, -150, -200, -256}) {
        INFO(offset);
        CHECK(is_reported(100, offset, "before the beginning of device memory"));
    }
    for (const std::ptrdiff_t offset : {100, 101, 163, 200, 255}) {
        INFO(offset);
        CHECK(is_reported(100, offset, "past the end of device memory"));
    }
    // These bytes are the guard of the next allocation.
    for (const std::ptrdiff_t offset : {256, 355, 356, 400}) {
        INFO(offset);
        CHECK(is_reported(100, offset, "before the beginning of device memory"));
    }
}

TEST_CASE("a write next to a large allocation is reported") {
    for (const std::size_t size : {4 * KiB, 64 * KiB, MiB, 20 * MiB}) {
        INFO(size);
        const auto end = static_cast<std::ptrdiff_t>(size);
        CHECK(is_reported(size, -1, "before the beginning of device memory"));
        CHECK(is_reported(size, -200, "before the beginning of device memory"));
        CHECK(is_reported(size, end, "past the end of device memory"));
        CHECK(is_reported(size, end + 63, "past the end of device memory"));
    }
}

TEST_CASE("filling allocations of many sizes leaves each other's guards intact") {
    std::vector<std::pair<CUdeviceptr, std::size_t>> all;
    for (std::size_t size = 1; size < 3 * MiB; size += size / 3 + 1) {
        all.emplace_back(allocate(size), size);
        require_ok(driver().cuMemsetD8(all.back().first, 0xff, size));
    }
    for (std::size_t i = 0; i < all.size(); i += 2) {
        release(all[i].first);
        all[i].first = allocate(all[i].second);
        require_ok(driver().cuMemsetD8(all[i].first, 0xff, all[i].second));
    }
    for (const auto &[address, size] : all) {
        release(address);
    }
    CHECK(misuses().empty());
}
