// Bytes that a kernel writes beside an allocation, before its beginning and past its end.
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

// Whether that is reported, once, when the byte there is changed, counted from the first of an
// allocation.
bool is_reported(std::size_t size, std::ptrdiff_t offset, const char *text) {
    const std::size_t before = misuses().size();
    const CUdeviceptr first = allocate(size), address = allocate(size), last = allocate(size);
    view(address, size)[offset] ^= 1;
    release(address);
    release(last);
    release(first);
    expect_misuse(text);
    return misuses().size() == before + 1; // the neighbours are whole
}

} // namespace

TEST_CASE("every byte around a small allocation is guarded") {
    for (const std::ptrdiff_t offset : {-1, -2, -100, -150, -200, -256}) {
        INFO(offset);
        CHECK(is_reported(100, offset, "before the beginning of device memory"));
    }
    for (const std::ptrdiff_t offset : {100, 101, 163, 200, 255}) {
        INFO(offset);
        CHECK(is_reported(100, offset, "past the end of device memory"));
    }
    // From here on these are the bytes before the next one.
    for (const std::ptrdiff_t offset : {256, 355, 356, 400}) {
        INFO(offset);
        CHECK(is_reported(100, offset, "before the beginning of device memory"));
    }
}

TEST_CASE("big allocations are guarded on both sides") {
    for (const std::size_t size : {4 * KiB, 64 * KiB, MiB, 20 * MiB}) {
        INFO(size);
        const auto end = static_cast<std::ptrdiff_t>(size);
        CHECK(is_reported(size, -1, "before the beginning of device memory"));
        CHECK(is_reported(size, -200, "before the beginning of device memory"));
        CHECK(is_reported(size, end, "past the end of device memory"));
        CHECK(is_reported(size, end + 63, "past the end of device memory"));
    }
}

TEST_CASE("the rest of a page of host memory is guarded") {
    auto *pinned = static_cast<unsigned char *>(allocate_pinned(100));
    pinned[4095] ^= 1;
    release(pinned);
    expect_misuse("past the end of pinned host memory");
}

TEST_CASE("allocations of many sizes do not touch each other's guards") {
    std::vector<std::pair<CUdeviceptr, std::size_t>> all;
    for (std::size_t size = 1; size < 3 * MiB; size += size / 3 + 1) {
        all.emplace_back(allocate(size), size);
        REQUIRE(d.cuMemsetD8(all.back().first, 0xff, size) == good);
    }
    for (std::size_t i = 0; i < all.size(); i += 2) {
        release(all[i].first);
        all[i].first = allocate(all[i].second);
        REQUIRE(d.cuMemsetD8(all[i].first, 0xff, all[i].second) == good);
    }
    for (const auto &[address, size] : all) {
        release(address);
    }
    CHECK(misuses().empty());
}
