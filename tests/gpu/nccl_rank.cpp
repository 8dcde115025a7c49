// One process of nccl_test.py: one GPU, one rank. NCCL reduces data in cushim's buffers.
//
// usage: gpu_nccl_rank LIBRARY version       prints NCCL's version; status 77 if it cannot be
// loaded
//        gpu_nccl_rank LIBRARY devices       prints the number of GPUs
//        gpu_nccl_rank LIBRARY reduce FILE COUNT
//                                            runs one of COUNT ranks; rank 0 writes NCCL's unique
//                                            id to the file
//        gpu_nccl_rank LIBRARY measure FILE COUNT
//                                            the same, and rank 0 prints the bandwidth
//
// Rank and number of ranks come from the environment: RANK and WORLD_SIZE, else the variables of
// MPI launchers or Slurm.
#include "nccl.hpp"

#include "figure.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pool_buffer.hpp>
#include <cushim/stream.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace cushim;
namespace nccl = gpu_test::nccl;

namespace {

constexpr int skipped = 77;
constexpr std::size_t words = (16 << 20) + 3;

// --- errors

void ok(const Result<void> &result) {
    if (!result) {
        throw std::runtime_error(result.error().message());
    }
}
template <class T>
T ok(Result<T> result) {
    if (!result) {
        throw std::runtime_error(result.error().message());
    }
    return *std::move(result);
}

// --- rank

struct Rank {
    int number = -1;
    int count = -1;
};

Rank rank_in_environment() {
    constexpr const char *variables[][2] = {
        {"RANK", "WORLD_SIZE"},                           // explicit settings come first
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, // Open MPI
        {"PMI_RANK", "PMI_SIZE"},                         // MPICH, Intel MPI
        {"PMIX_RANK", "PMIX_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"},
    };
    for (const auto &[number, count] : variables) {
        if (std::getenv(number) != nullptr && std::getenv(count) != nullptr) {
            return {std::atoi(std::getenv(number)), std::atoi(std::getenv(count))};
        }
    }
    throw std::runtime_error("the environment does not say which rank this is");
}

// A process that believed it was the only one would add up nothing and find every sum correct.
Rank own_rank(int processes) {
    const Rank rank = rank_in_environment();
    if (rank.count != processes || rank.number < 0 || rank.number >= processes) {
        throw std::runtime_error("the environment says rank " + std::to_string(rank.number) +
                                 " of " + std::to_string(rank.count) + ", and " +
                                 std::to_string(processes) + " processes were to be started");
    }
    return rank;
}

// --- NCCL

class Communicator {
  public:
    Communicator(const nccl::Functions &call, Rank rank, const std::string &id_file) : call_(call) {
        const nccl::UniqueId id = rank.number == 0 ? publish(id_file) : read(id_file);
        check(call_.CommInitRank(&communicator_, rank.count, id, rank.number));
    }
    ~Communicator() { call_.CommDestroy(communicator_); }
    Communicator(const Communicator &) = delete;
    Communicator &operator=(const Communicator &) = delete;

    // In place.
    void add_up(const Stream &stream, DeviceSpan<unsigned int> values) {
        check(call_.AllReduce(values.data(), values.data(), values.size(), nccl::uint32, nccl::sum,
                              communicator_, stream.native()));
    }
    template <class Body>
    void group(Body body) {
        check(call_.GroupStart());
        body();
        check(call_.GroupEnd());
    }

  private:
    void check(nccl::Result result) {
        if (result != 0) {
            throw std::runtime_error(std::string("NCCL: ") + call_.GetErrorString(result) + "; " +
                                     call_.GetLastError(communicator_));
        }
    }
    nccl::UniqueId publish(const std::string &file) {
        nccl::UniqueId id;
        check(call_.GetUniqueId(&id));
        std::ofstream(file + ".part", std::ios::binary).write(id.bytes, sizeof id.bytes);
        if (std::rename((file + ".part").c_str(), file.c_str()) != 0) {
            throw std::runtime_error("cannot write " + file);
        }
        return id;
    }
    static nccl::UniqueId read(const std::string &file) {
        nccl::UniqueId id;
        for (int tries = 0; tries < 600; ++tries) {
            if (std::ifstream(file, std::ios::binary).read(id.bytes, sizeof id.bytes)) {
                return id;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        throw std::runtime_error("rank 0 wrote no " + file);
    }

    const nccl::Functions &call_;
    nccl::Communicator communicator_ = nullptr;
};

// --- the sums

// Word i of rank r is i (r + 1): the sum of n ranks is i n (n + 1) / 2.
void fill_own(const Stream &stream, DeviceSpan<unsigned int> span, Rank rank) {
    std::vector<unsigned int> values(span.size());
    for (std::size_t index = 0; index < values.size(); ++index) {
        values[index] =
            static_cast<unsigned int>(index) * static_cast<unsigned int>(rank.number + 1);
    }
    ok(copy(stream, span, values));
    ok(stream.synchronize());
}

void check_sum(const char *what, const Stream &stream, DeviceSpan<unsigned int> span, Rank rank) {
    std::vector<unsigned int> values(span.size());
    ok(copy(stream, std::span(values), span));
    ok(stream.synchronize());
    const auto factor = static_cast<unsigned int>(rank.count * (rank.count + 1) / 2);
    for (std::size_t index = 0; index < values.size(); ++index) {
        const unsigned int expected = static_cast<unsigned int>(index) * factor;
        if (values[index] != expected) {
            throw std::runtime_error(std::string(what) + ": word " + std::to_string(index) +
                                     " is " + std::to_string(values[index]) + ", not " +
                                     std::to_string(expected));
        }
    }
}

void add_up(const char *what, Communicator &all, const Stream &stream,
            DeviceSpan<unsigned int> span, Rank rank) {
    fill_own(stream, span, rank);
    all.add_up(stream, span);
    check_sum(what, stream, span, rank);
}

// Afterwards the sums are no longer correct.
void measure(const char *what, Communicator &all, const Stream &stream,
             DeviceSpan<unsigned int> span, Rank rank) {
    constexpr int times = 20;
    all.add_up(stream, span); // synchronizes the ranks
    ok(stream.synchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (int index = 0; index < times; ++index) {
        all.add_up(stream, span);
    }
    ok(stream.synchronize());
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (rank.number == 0) {
        gpu_test::figure(
            "NCCL all-reduce over " + std::to_string(rank.count) + " GPUs, " + what + " of 64 MiB",
            static_cast<double>(span.size_bytes()) * times / passed.count() / 1e9, "GB/s");
    }
}

void reduce(const nccl::Functions &call, const std::string &id_file, Rank rank, bool measures) {
    const Device device = ok(Device::get(rank.number));
    const Context context = ok(Context::primary(device));
    const ContextScope scope = ok(context.enter());
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    auto plain = ok(DeviceBuffer<unsigned int>::allocate(context, words));
    const MemoryPool pool = ok(MemoryPool::create(device));
    auto pooled = ok(PoolBuffer<unsigned int>::allocate(pool, stream, words));
    auto growing = ok(GrowableBuffer<unsigned int>::create(device, words));
    ok(growing.resize(words / 2));

    Communicator all(call, rank, id_file);
    add_up("DeviceBuffer", all, stream, plain, rank);
    add_up("PoolBuffer", all, stream, pooled, rank);
    add_up("GrowableBuffer", all, stream, growing, rank);
    ok(growing.resize(words));
    add_up("GrowableBuffer, grown", all, stream, growing, rank);

    const DeviceSpan<unsigned int> spans[] = {plain, pooled, growing};
    for (const auto span : spans) {
        fill_own(stream, span, rank);
    }
    all.group([&] {
        for (const auto span : spans) {
            all.add_up(stream, span);
        }
    });
    for (const auto span : spans) {
        check_sum("all three in a group", stream, span, rank);
    }
    if (measures) {
        measure("DeviceBuffer", all, stream, plain, rank);
        measure("PoolBuffer", all, stream, pooled, rank);
        measure("GrowableBuffer", all, stream, growing, rank);
    }
    std::printf("rank %d of %d: every sum is right\n", rank.number, rank.count);
}

int run(const std::vector<std::string> &arguments) {
    if (arguments.size() >= 2 && arguments[1] == "devices") {
        std::printf("%d\n", ok(Device::count()));
        return 0;
    }
    const bool measures = arguments.size() >= 4 && arguments[1] == "measure";
    const bool reduces = measures || (arguments.size() >= 4 && arguments[1] == "reduce");
    const Rank rank = reduces ? own_rank(std::stoi(arguments[3])) : Rank{};
    nccl::Functions call;
    if (arguments.size() < 2 || !nccl::load(arguments[0].c_str(), call)) {
        return skipped;
    }
    if (arguments[1] == "version") {
        int version = 0;
        call.GetVersion(&version);
        std::printf("%d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
        return 0;
    }
    if (!reduces) {
        throw std::runtime_error("no such command, or too few arguments");
    }
    reduce(call, arguments[2], rank, measures);
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
