// The simulator's memory: allocations do not overlap, and resetting closes their descriptors.
#include "memory_tools.hpp"

#include <random>

#ifndef _WIN32
#include "../support/child_process.hpp"
#endif

using namespace sim_test;

namespace {

struct Piece {
    CUdeviceptr address;
    Bytes bytes;
};

Piece make(std::size_t size, unsigned int seed) {
    Piece piece{allocate(size), pattern(size, seed)};
    fill(piece.address, piece.bytes);
    return piece;
}

void end(const Piece &piece) {
    REQUIRE((contents(piece.address, piece.bytes.size()) == piece.bytes));
    release(piece.address);
}

} // namespace

TEST_CASE("allocations keep their contents while others are allocated and freed") {
    std::mt19937 random(11);
    std::vector<Piece> living;
    std::size_t used = 0;
    for (unsigned int round = 0; round < 1200; ++round) {
        static constexpr std::size_t limits[] = {600, 5000, 70000, 700000};
        living.push_back(make(1 + random() % limits[random() % 4], round));
        used += living.back().bytes.size();
        while (living.size() > 60) {
            const std::size_t victim = random() % living.size();
            used -= living[victim].bytes.size();
            end(living[victim]);
            living.erase(living.begin() + static_cast<std::ptrdiff_t>(victim));
        }
        CHECK(free_memory() == 8 * GiB - used);
    }
    for (const Piece &piece : living) {
        end(piece);
    }
    CHECK(free_memory() == 8 * GiB);
}

TEST_CASE("allocations of sizes around page, slice and file boundaries keep their contents") {
    std::vector<Piece> living;
    for (const std::size_t border : {512 * std::size_t(1), 4 * KiB, 16 * KiB, 64 * KiB, 2 * MiB,
                                     10 * MiB, 20 * MiB, 40 * MiB}) {
        for (const std::size_t size : {border - 64, border - 1, border, border + 1, border + 64}) {
            living.push_back(make(size, static_cast<unsigned int>(size)));
        }
    }
    for (const Piece &piece : living) {
        end(piece);
    }
}

#ifndef _WIN32
TEST_CASE("resetting the simulator closes its file descriptors") {
    start("devices=4");
    sim_control().reset();
    const std::size_t before = open_descriptors();
    for (int round = 0; round < 3; ++round) {
        start("devices=4");
        std::vector<CUdeviceptr> living;
        for (int i = 0; i < 20; ++i) {
            living.push_back(allocate(40 * MiB)); // a file of its own
            living.push_back(allocate(4 * KiB));
        }
        CHECK(open_descriptors() > before);
        for (const CUdeviceptr address : living) {
            release(address);
        }
        sim_control().reset();
        CHECK(open_descriptors() == before);
    }
}
#endif
