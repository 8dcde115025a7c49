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
    CUstreamBatchMemOpParams operation{};
    operation.memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    operation.memoryBarrier.flags = flags;
    return operation;
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
    CHECK(d.cuStreamWriteValue32_v2(nullptr, memory, 0xdeadbeef, 0) == good);
    CHECK(d.cuStreamWriteValue64_v2(nullptr, memory + 8, 0x0123456789abcdefu, 0) == good);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, memory + 20, 5, 0) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == good);
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
            REQUIRE(
                (wide ? d.cuStreamWaitValue64_v2(nullptr, memory, extended(one.wanted), one.flags)
                      : d.cuStreamWaitValue32_v2(nullptr, memory, one.wanted, one.flags)) == good);
            CHECK(d.cuStreamQuery(nullptr) == (one.goes_on ? good : CUDA_ERROR_NOT_READY));
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
        REQUIRE(order.launch(one, number) == good);
        REQUIRE(d.cuStreamWriteValue32_v2(one, memory, i + 1, 0) == good);
        REQUIRE(d.cuStreamWaitValue32_v2(one, memory + 4, i + 1, geq) == good);
        REQUIRE(d.cuStreamWaitValue32_v2(two, memory, i + 1, geq) == good);
        REQUIRE(order.launch(two, number + 1) == good);
        REQUIRE(d.cuStreamWriteValue32_v2(two, memory + 4, i + 1, 0) == good);
        expected.push_back(number);
        expected.push_back(number + 1);
    }
    CHECK(d.cuStreamSynchronize(one) == good);
    CHECK(d.cuStreamSynchronize(two) == good);
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
    REQUIRE(d.cuStreamBatchMemOp_v2(stream, 6, operations, 0) == good);
    for (auto &operation : operations) {
        operation = {}; // the call has copied them
    }
    REQUIRE(order.launch(stream, 1) == good);
    CHECK(sim_control().drain() == 2);
    CHECK(memory.at<std::uint64_t>() == 1);
    CHECK(memory.at<std::uint64_t>(16) == 0);
    REQUIRE(d.cuStreamWriteValue32_v2(other, memory + 8, 1, 0) == good);
    CHECK(sim_control().drain() == 2);
    CHECK(memory.at<std::uint64_t>(16) == 1);
    CHECK(memory.at<std::uint64_t>(32) == 0);
    REQUIRE(d.cuStreamWriteValue32_v2(other, memory + 24, 1, 0) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(memory.at<std::uint64_t>(32) == 1);
    CHECK(order.has(1));
}

TEST_CASE("addresses, flags and counts of stream memory operations are checked at once") {
    start("attribute.98=0"); // no flush of remote writes
    const Memory memory;
    const ManagedMemory managed(64);
    const CUdeviceptr a = memory;
    const auto wait32 = [](CUdeviceptr address, unsigned int flags) {
        return d.cuStreamWaitValue32_v2(nullptr, address, 0, flags);
    };
    const auto write32 = [](CUdeviceptr address, unsigned int flags) {
        return d.cuStreamWriteValue32_v2(nullptr, address, 0, flags);
    };
    const auto write64 = [](CUdeviceptr address) {
        return d.cuStreamWriteValue64_v2(nullptr, address, 0, 0);
    };
    check_all(invalid,
              {wait32(a + 2, eq), d.cuStreamWaitValue64_v2(nullptr, a + 4, 0, eq),
               write32(a + 1, 0), write64(a + 4), wait32(0, eq), write64(a + 64),
               write64(~CUdeviceptr(7)), wait32(a, 4), wait32(a, 0x80000000u), write32(a, 2),
               write32(a, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER), write32(managed, 0)});
    CHECK(wait32(a, eq | CU_STREAM_WAIT_VALUE_FLUSH) == CUDA_ERROR_NOT_SUPPORTED);

    CUstreamBatchMemOpParams one = write_operation(a, 1), last = one;
    check_misuse(d.cuStreamBatchMemOp_v2(nullptr, 1, nullptr, 0), invalid,
                 "cuStreamBatchMemOp of a null list");
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 1, &one, 1) == invalid);
    std::vector<CUstreamBatchMemOpParams> many(257, one);
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 257, many.data(), 0) == invalid);
    const auto ends_with = [&](const CUstreamBatchMemOpParams &operation) {
        many[255] = operation;
        return d.cuStreamBatchMemOp_v2(nullptr, 256, many.data(), 0);
    };
    CHECK(ends_with(one) == good);
    last.operation = static_cast<CUstreamBatchMemOpType>(99);
    CHECK(ends_with(last) == invalid);
    CHECK(ends_with(barrier(2)) == invalid);
    last = {};
    last.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    CHECK(ends_with(last) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuCtxSynchronize() == good);
}

TEST_CASE("freeing memory that a stream waits for is a misuse") {
    start(adversarial(1));
    const CUdeviceptr memory = allocate(64);
    REQUIRE(d.cuMemsetD8(memory, 0, 64) == good);
    REQUIRE(d.cuStreamWaitValue32_v2(nullptr, memory, 1, eq) == good);
    release(memory);
    CHECK_FALSE(misuses().empty());
    CHECK(d.cuStreamSynchronize(nullptr) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuses();
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("stream memory operations of the first ABI need their device attribute") {
    const bool on = GENERATE(false, true);
    start(on ? "attribute.92=1;attribute.93=1" : "attribute.92=0;attribute.93=0");
    const CUresult expected = on ? good : CUDA_ERROR_NOT_SUPPORTED;
    using Value32 = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
    using Value64 = CUresult (*)(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
    using Batch = CUresult (*)(CUstream, unsigned int, CUstreamBatchMemOpParams *, unsigned int);
    const auto write32 = exported_as<Value32>("cuStreamWriteValue32");
    const auto wait32 = exported_as<Value32>("cuStreamWaitValue32");
    const auto write64 = exported_as<Value64>("cuStreamWriteValue64");
    const auto wait64 = exported_as<Value64>("cuStreamWaitValue64");
    const auto batch = exported_as<Batch>("cuStreamBatchMemOp");
    const Memory memory;
    CHECK(write32(nullptr, memory, 5, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) == expected);
    CHECK(wait32(nullptr, memory, 5, eq) == expected);
    CHECK(write64(nullptr, memory + 8, 6, 0) == expected);
    CHECK(wait64(nullptr, memory + 8, 6, eq) == expected);
    CUstreamBatchMemOpParams operation = write_operation(memory + 16, 7);
    CHECK(batch(nullptr, 1, &operation, 0) == expected);
    operation = barrier(0);
    CHECK(batch(nullptr, 1, &operation, 0) == (on ? invalid : CUDA_ERROR_NOT_SUPPORTED));
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(memory.at<std::uint64_t>(16) == (on ? 7 : 0));
}
