// Streams that wait for values in memory and write values.
#include "memory_tools.hpp"
#include "run_order.hpp"

#include <limits>

using namespace sim_test;

namespace {

// Device memory filled with zeros, and the host's view of it.
struct Memory : DeviceMemory {
    Memory() : DeviceMemory(64), bytes(view(*this, 64)) { std::memset(bytes, 0, 64); }
    template <class T>
    T &at(std::size_t offset = 0) const {
        return *reinterpret_cast<T *>(bytes + offset);
    }

    unsigned char *bytes;
};

constexpr unsigned int geq = CU_STREAM_WAIT_VALUE_GEQ, eq = CU_STREAM_WAIT_VALUE_EQ,
                       bits = CU_STREAM_WAIT_VALUE_AND, nor = CU_STREAM_WAIT_VALUE_NOR;

CUstreamBatchMemOpParams wait_operation(CUdeviceptr address, std::uint32_t value,
                                        unsigned int flags) {
    CUstreamBatchMemOpParams operation{};
    operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operation.waitValue.address = address;
    operation.waitValue.value = value;
    operation.waitValue.flags = flags;
    return operation;
}

CUstreamBatchMemOpParams barrier(unsigned int flags) {
    return {.memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER, .flags = flags}};
}

CUstreamBatchMemOpParams write_operation(CUdeviceptr address, std::uint64_t value) {
    CUstreamBatchMemOpParams operation{};
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operation.writeValue.address = address;
    operation.writeValue.value64 = value;
    return operation;
}

} // namespace

TEST_CASE("stream writes change 4 or 8 bytes") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Memory memory;
    memory.at<std::uint64_t>() = memory.at<std::uint64_t>(8) = 0x1111111111111111u;
    ok(driver().cuStreamWriteValue32_v2(nullptr, memory, 0xdeadbeef, 0));
    ok(driver().cuStreamWriteValue64_v2(nullptr, memory + 8, 0x0123456789abcdefu, 0));
    ok(driver().cuStreamWriteValue32_v2(nullptr, memory + 20, 5, 0));
    ok(driver().cuStreamSynchronize(nullptr));
    CHECK(memory.at<std::uint64_t>() == 0x11111111deadbeefu);
    CHECK(memory.at<std::uint64_t>(8) == 0x0123456789abcdefu);
    CHECK(memory.at<std::uint64_t>(16) == 0x0000000500000000u);
}

TEST_CASE("a value wait compares according to its flags") {
    constexpr auto top = std::numeric_limits<std::uint32_t>::max();
    const struct {
        std::uint32_t found, wanted;
        unsigned int flags;
        bool goes_on;
    } cases[] = {
        {5, 5, geq, true},    {6, 5, geq, true},
        {4, 5, geq, false},   {0, top, geq, true}, // wraps around
        {top, 0, geq, false}, {0x80000000u, 1, geq, true},
        {5, 5, eq, true},     {6, 5, eq, false},
        {0, 0, bits, false},  {6, 2, bits, true},
        {4, 2, bits, false},  {0, 0, nor, true},
        {top, 0, nor, false}, {0xf0f0f0f0u, 0x0f0f0f0fu, nor, false},
        {1, 2, nor, true},
    };
    for (const auto &one : cases) {
        for (const bool wide : {false, true}) {
            INFO(one.found << " " << one.wanted << " " << one.flags << " " << wide);
            if (wide && one.found == 0x80000000u) {
                continue; // has another sign in 64 bits
            }
            start();
            const CUdeviceptr memory = allocate(64);
            auto &word = *reinterpret_cast<std::uint64_t *>(view(memory, 8));
            const auto extended = [](std::uint32_t value) {
                return std::uint64_t(std::int64_t(std::int32_t(value)));
            };
            word = wide ? extended(one.found) : one.found;
            require_ok(
                (wide ? driver().cuStreamWaitValue64_v2(nullptr, memory, extended(one.wanted),
                                                        one.flags)
                      : driver().cuStreamWaitValue32_v2(nullptr, memory, one.wanted, one.flags)));
            CHECK(driver().cuStreamQuery(nullptr) ==
                  (one.goes_on ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY));
            sim_control().reset();
        }
    }
}

TEST_CASE("two streams hand over to each other by values in memory") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Memory memory;
    RunOrder order;
    const Stream one, two;
    std::vector<int> expected;
    for (std::uint32_t i = 0; i < 20; ++i) {
        const auto number = static_cast<int>(2 * i);
        require_ok(order.launch(one, number));
        require_ok(driver().cuStreamWriteValue32_v2(one, memory, i + 1, 0));
        require_ok(driver().cuStreamWaitValue32_v2(one, memory + 4, i + 1, geq));
        require_ok(driver().cuStreamWaitValue32_v2(two, memory, i + 1, geq));
        require_ok(order.launch(two, number + 1));
        require_ok(driver().cuStreamWriteValue32_v2(two, memory + 4, i + 1, 0));
        expected.push_back(number);
        expected.push_back(number + 1);
    }
    ok(driver().cuStreamSynchronize(one));
    ok(driver().cuStreamSynchronize(two));
    CHECK(order.ran() == expected);
}

TEST_CASE("a batch stops at a wait after its earlier operations have run") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Memory memory;
    RunOrder order;
    const Stream stream, other(non_blocking);
    CUstreamBatchMemOpParams operations[] = {
        write_operation(memory, 1),         barrier(CU_STREAM_MEMORY_BARRIER_TYPE_GPU),
        wait_operation(memory + 8, 1, eq),  write_operation(memory + 16, 1),
        wait_operation(memory + 24, 1, eq), write_operation(memory + 32, 1)};
    require_ok(driver().cuStreamBatchMemOp_v2(stream, 6, operations, 0));
    for (auto &operation : operations) {
        operation = {}; // the call has copied them
    }
    require_ok(order.launch(stream, 1));
    CHECK(sim_control().drain() == 2);
    CHECK(memory.at<std::uint64_t>() == 1);
    CHECK(memory.at<std::uint64_t>(16) == 0);
    require_ok(driver().cuStreamWriteValue32_v2(other, memory + 8, 1, 0));
    CHECK(sim_control().drain() == 2);
    CHECK(memory.at<std::uint64_t>(16) == 1);
    CHECK(memory.at<std::uint64_t>(32) == 0);
    require_ok(driver().cuStreamWriteValue32_v2(other, memory + 24, 1, 0));
    ok(driver().cuStreamSynchronize(stream));
    CHECK(memory.at<std::uint64_t>(32) == 1);
    CHECK(order.has(1));
}

TEST_CASE("every operation of a batch of at most 256 is checked when it is enqueued") {
    start("attribute.98=0"); // no flush of remote writes
    const Memory memory;
    const ManagedMemory managed(64);
    const CUstreamBatchMemOpParams flushing{.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES};
    std::vector<CUstreamBatchMemOpParams> many(257, write_operation(memory, 1));
    const auto ends_with = [&](const CUstreamBatchMemOpParams &operation) {
        many[255] = operation;
        return driver().cuStreamBatchMemOp_v2(nullptr, 256, many.data(), 0);
    };
    CHECK(driver().cuStreamBatchMemOp_v2(nullptr, 257, many.data(), 0) == invalid);
    ok(ends_with(many[0]));
    check_all(invalid, {ends_with(write_operation(memory + 64, 1)), // behind the memory
                        ends_with(write_operation(~CUdeviceptr(7), 1)),
                        ends_with(write_operation(managed, 1)), ends_with(barrier(2)),
                        ends_with(wait_operation(memory, 1, 4))});
    check_all(CUDA_ERROR_NOT_SUPPORTED,
              {ends_with(wait_operation(memory, 1, eq | CU_STREAM_WAIT_VALUE_FLUSH)),
               ends_with(flushing)});
    check_misuse(driver().cuStreamBatchMemOp_v2(nullptr, 1, nullptr, 0), invalid,
                 "cuStreamBatchMemOp of a null list");
    ok(driver().cuCtxSynchronize());
}

TEST_CASE("freeing memory that a stream waits for is a misuse") {
    start(adversarial(1));
    const CUdeviceptr memory = allocate(64);
    require_ok(driver().cuMemsetD8(memory, 0, 64));
    require_ok(driver().cuStreamWaitValue32_v2(nullptr, memory, 1, eq));
    release(memory);
    CHECK_FALSE(misuses().empty());
    CHECK(driver().cuStreamSynchronize(nullptr) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuses();
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("stream memory operations of the first ABI run on a device with the attributes") {
    start("attribute.92=1;attribute.93=1");
    const Memory memory;
    CUstreamBatchMemOpParams write = write_operation(memory + 16, 7), no_write = barrier(0);
    constexpr auto unordered = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    check_all(CUDA_SUCCESS, {driver().cuStreamWriteValue32_v1(nullptr, memory, 5, unordered),
                             driver().cuStreamWaitValue32_v1(nullptr, memory, 5, eq),
                             driver().cuStreamWriteValue64_v1(nullptr, memory + 8, 6, 0),
                             driver().cuStreamWaitValue64_v1(nullptr, memory + 8, 6, eq),
                             driver().cuStreamBatchMemOp_v1(nullptr, 1, &write, 0)});
    CHECK(driver().cuStreamBatchMemOp_v1(nullptr, 1, &no_write, 0) == invalid);
    ok(driver().cuCtxSynchronize());
    CHECK(memory.at<std::uint64_t>(8) == 6);
    CHECK(memory.at<std::uint64_t>(16) == 7);
}
