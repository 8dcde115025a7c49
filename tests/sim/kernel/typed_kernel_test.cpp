// Typed host functions of kernels: cushim_sim.hpp.
#include "launch_tools.hpp"
#include "memory_kinds.hpp"
#include "memory_tools.hpp"
#include "vmm_tools.hpp"

#include <cushim_sim.hpp>

using namespace sim_test;
using cushim::sim::Launch;
using cushim::sim::Memory;
using cushim::sim::Simulator;
using cushim::sim::Thread;

namespace {

constexpr char image[] = R"(cushim-sim-image 1
kernel scale params=8,4
kernel take params=8
kernel structure params=16:8
kernel nothing
constant factors size=16 init=0000803f00000040
)";

struct Work {
    float *numbers;
    unsigned int count, offset;
};

Simulator simulator() {
    return Simulator(&sim_control());
}

// Launches a kernel with these arguments and returns the status of its stream.
template <class... Arguments>
CUresult run(const Module &module, const char *kernel, Arguments... arguments) {
    void *parameters[] = {&arguments..., nullptr};
    const Stream stream;
    ok(launch(module.function(kernel), {2, 1, 1}, {3, 1, 1}, 0, stream, parameters));
    return driver().cuStreamSynchronize(stream);
}

// Registers a host function after a restart, since a failed launch ends its context.
template <class Function>
void restart_with(const char *kernel, Function function) {
    start();
    simulator().kernel(kernel, std::move(function));
}

// The same as run(), for a launch that fails.
template <class... Arguments>
void check_failure(CUresult expected, const std::string &text, const char *kernel,
                   Arguments... arguments) {
    INFO(text);
    const CUmodule module = load_module(image);
    void *parameters[] = {&arguments..., nullptr};
    ok(launch(function_of(module, kernel), {2, 1, 1}, {3, 1, 1}, 0, nullptr, parameters));
    CHECK(driver().cuCtxSynchronize() == expected);
    REQUIRE(misuses().size() == 1);
    INFO(misuses()[0]);
    CHECK(misuses()[0].find(text) != std::string::npos);
    sim_control().clear_misuses();
    ok(driver().cuDevicePrimaryCtxReset(0));
}

} // namespace

TEST_CASE("a typed host function gets memory as a span and numbers by value") {
    start(GENERATE_COPY(from_range(all_modes())));
    simulator().kernel("scale", [](std::span<float> numbers, float factor) {
        for (float &number : numbers) {
            number *= factor;
        }
    });
    const LoadedModule module(image);
    const std::vector<float> given = {1, 2, 3, 4};
    std::vector<float> result(4);
    const DeviceMemory memory(16);
    ok(driver().cuMemcpyHtoD(memory, given.data(), 16));
    ok(run(module, "scale", memory.get(), 2.0F));
    ok(driver().cuMemcpyDtoH(result.data(), memory, 16));
    CHECK(result == std::vector<float>{2, 4, 6, 8});
    ok(run(module, "scale", memory.get() + 8, 2.0F)); // from there to the end
    ok(driver().cuMemcpyDtoH(result.data(), memory, 16));
    CHECK(result == std::vector<float>{2, 4, 12, 16});
    ok(run(module, "scale", CUdeviceptr(0), 2.0F));
    CHECK(misuses().empty());
}

TEST_CASE("a pointer parameter may be a pointer, checked memory, or the address itself") {
    const LoadedModule module(image);
    const DeviceMemory memory(16);
    *reinterpret_cast<int *>(view(memory, 4)) = 7;
    int seen = 0;
    bool null = false;
    simulator().kernel("take", [&](const int *value) {
        null = value == nullptr;
        seen += null ? 0 : *value;
    });
    ok(run(module, "take", memory.get()));
    ok(run(module, "take", CUdeviceptr(0)));
    CHECK(null);
    simulator().kernel("take", [&](Memory<int> values) {
        seen += values[0] + static_cast<int>(values.size()) + values.first(1)[0];
    });
    ok(run(module, "take", memory.get()));
    std::uint64_t address = 0;
    simulator().kernel("take", [&](std::uint64_t given) { address = given; });
    ok(run(module, "take", memory.get()));
    CHECK(seen == 7 + 7 + 4 + 7);
    CHECK(address == memory.get());
}

TEST_CASE("a typed host function accesses managed, pinned and mapped memory") {
    const LoadedModule module(image);
    std::vector<std::size_t> sizes;
    simulator().kernel(
        "take", [&](std::span<const unsigned char> bytes) { sizes.push_back(bytes.size()); });
    const ManagedMemory managed(100);
    const PinnedMemory pinned(200);
    ok(run(module, "take", managed.get()));
    ok(run(module, "take", as_device(pinned)));
    CHECK(sizes == std::vector<std::size_t>{100, 200});
}

TEST_CASE("a typed host function gets what is mapped without a gap, read-only memory as const") {
    const LoadedModule module(image);
    constexpr std::size_t part = default_granularity;
    std::vector<std::size_t> sizes;
    simulator().kernel("take",
                       [&](std::span<const std::byte> bytes) { sizes.push_back(bytes.size()); });
    const CUdeviceptr reserved = reserve(4 * part);
    const PhysicalMemory memory(part, on_device());
    for (const std::size_t at : {std::size_t(0), part, 3 * part}) {
        map(reserved + at, part, memory);
    }
    allow(reserved, part);
    allow(reserved + part, part, grant(0, CU_MEM_ACCESS_FLAGS_PROT_READ));
    ok(run(module, "take", reserved + 16));
    CHECK(sizes == std::vector<std::size_t>{2 * part - 16});
    simulator().kernel("take", [&](std::span<std::byte> bytes) { sizes.push_back(bytes.size()); });
    ok(run(module, "take", reserved));
    CHECK(sizes.back() == part);
    for (const std::size_t at : {std::size_t(0), part, 3 * part}) {
        unmap(reserved + at, part);
    }
    free_reserved(reserved, 4 * part);
}

TEST_CASE("the first parameter of a typed host function may be the launch") {
    const LoadedModule module(image);
    std::vector<unsigned int> indices;
    simulator().kernel("nothing", [&](const Launch &given) {
        CHECK(given.kernel() == std::string("nothing"));
        CHECK(numbers(given.grid().x, given.block().x, given.shared_bytes()) == numbers(2, 3, 0));
        given.for_each_thread([&](const Thread &thread) {
            indices.push_back(thread.blockIdx.x * thread.blockDim.x + thread.threadIdx.x);
        });
    });
    ok(run(module, "nothing"));
    CHECK(indices == std::vector<unsigned int>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a structure is passed by value, and memory at its members is accessible") {
    const LoadedModule module(image);
    const DeviceMemory memory(16);
    std::memset(view(memory, 16), 0, 16);
    simulator().kernel("structure", [](const Launch &given, const Work &work) {
        given.memory(work.numbers)[work.offset] = static_cast<float>(work.count);
    });
    ok(run(module, "structure", Work{static_cast<float *>(as_host(memory.get())), 5, 2}));
    CHECK(reinterpret_cast<float *>(view(memory, 16))[2] == 5);
}

TEST_CASE("a typed host function reads a variable of its module") {
    const LoadedModule module(image);
    float sum = 0;
    simulator().kernel("nothing", [&](const Launch &given) {
        const auto &factors = given.variable<float[4]>("factors");
        sum = factors[0] + factors[1] + factors[3];
    });
    ok(run(module, "nothing"));
    CHECK(sum == 3);
}

TEST_CASE("a function pointer is a host function, and null computes nothing") {
    const LoadedModule module(image);
    static int runs = 0;
    runs = 0;
    simulator().kernel("nothing", +[] { ++runs; });
    ok(run(module, "nothing"));
    CHECK(runs == 1);
    simulator().kernel("nothing", nullptr);
    ok(run(module, "nothing"));
    CHECK(runs == 1);
    CHECK(lines_of(&cushim_sim::idle_kernels).empty());
}

TEST_CASE("a typed host function whose parameters differ fails the launch") {
    int runs = 0;
    const auto count = [&](auto...) { ++runs; };
    restart_with("scale", [&](std::span<float> a) { count(a); });
    check_failure(CUDA_ERROR_LAUNCH_FAILED,
                  "kernel scale: has 2 parameters, its host function expects 1", "scale",
                  CUdeviceptr(0), 2.0F);
    restart_with("scale", [&](std::span<float> a, double b) { count(a, b); });
    check_failure(CUDA_ERROR_LAUNCH_FAILED,
                  "kernel scale: parameter 2 of 2 has 4 bytes, its host function expects 8",
                  "scale", CUdeviceptr(0), 2.0F);
    restart_with("scale", [&](std::span<float> a, std::span<float> b) { count(a, b); });
    check_failure(CUDA_ERROR_LAUNCH_FAILED,
                  "kernel scale: parameter 2 of 2 has 4 bytes, its host function expects 8",
                  "scale", CUdeviceptr(0), 2.0F);
    restart_with("nothing", [&](const Launch &given) { given.variable<int>("factors"); });
    check_failure(CUDA_ERROR_LAUNCH_FAILED,
                  "kernel nothing: variable factors has 16 bytes, its host function expects 4",
                  "nothing");
    restart_with("nothing", [&](const Launch &given) { given.variable<int>("factor"); });
    check_failure(CUDA_ERROR_LAUNCH_FAILED,
                  "kernel nothing uses variable \"factor\", which its module lacks; it has factors",
                  "nothing");
    CHECK(runs == 0);
}

TEST_CASE("a typed host function with an invalid pointer fails the launch") {
    restart_with("take", [](std::span<int>) {});
    static int host = 0;
    check_failure(CUDA_ERROR_ILLEGAL_ADDRESS, "which is in no memory that it can access", "take",
                  as_device(&host));
    restart_with("take", [](std::span<int>) {});
    const CUdeviceptr freed = allocate(16);
    release(freed);
    check_failure(CUDA_ERROR_ILLEGAL_ADDRESS,
                  "kernel take runs with the address of memory that was freed", "take", freed);
    restart_with("take", [](std::span<int>) {});
    const CUdeviceptr odd = allocate(16);
    check_failure(CUDA_ERROR_MISALIGNED_ADDRESS,
                  "kernel take: uses an address that is not a multiple of 4", "take", odd + 1);
    restart_with("take", [](std::span<int>) {});
    const CUdeviceptr read_only = reserve(default_granularity);
    map(read_only, default_granularity, create_memory(default_granularity, on_device()));
    allow(read_only, default_granularity, grant(0, CU_MEM_ACCESS_FLAGS_PROT_READ));
    check_failure(CUDA_ERROR_ILLEGAL_ADDRESS, "kernel take uses address 0x", "take", read_only);
    restart_with("take", [](Memory<int> values) { values[4] = 0; });
    check_failure(CUDA_ERROR_ILLEGAL_ADDRESS,
                  "kernel take: accesses 5 elements of memory that has 4", "take", allocate(16));
    restart_with("take", [](Memory<int> values) { (void)values.first(5); });
    check_failure(CUDA_ERROR_ILLEGAL_ADDRESS,
                  "kernel take: accesses 5 elements of memory that has 4", "take", allocate(16));
    restart_with("structure",
                 [](const Launch &given, Work work) { (void)given.memory(work.numbers); });
    check_failure(CUDA_ERROR_ILLEGAL_ADDRESS, "kernel structure uses address 0x", "structure",
                  Work{static_cast<float *>(static_cast<void *>(&host)), 0, 0});
}

TEST_CASE("a status or an exception of a typed host function fails the launch") {
    restart_with("nothing", [] { throw std::runtime_error("of the test"); });
    check_failure(CUDA_ERROR_LAUNCH_FAILED, "kernel nothing: its host function throws: of the test",
                  "nothing");
    restart_with("nothing", [] { throw 1; });
    check_failure(CUDA_ERROR_LAUNCH_FAILED, "kernel nothing: its host function throws", "nothing");
    restart_with("nothing", [] { throw cushim::sim::Failure(710, "an assertion"); });
    check_failure(CUDA_ERROR_ASSERT, "kernel nothing: an assertion", "nothing");
    restart_with("nothing", [] { return CUDA_ERROR_ILLEGAL_INSTRUCTION; });
    const CUmodule module = load_module(image);
    ok(launch(function_of(module, "nothing")));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_INSTRUCTION);
    CHECK(misuses().empty());
    ok(driver().cuDevicePrimaryCtxReset(0));
}
