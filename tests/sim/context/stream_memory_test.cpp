// Streams that wait for values in memory and write them.
#include "run_order.hpp"

#include <limits>

using namespace sim_test;

namespace {

// Device memory, of zeros, and the host's view of it.
struct Memory {
    explicit Memory(std::size_t size = 64) {
        REQUIRE(d.cuMemAlloc(&address, size) == good);
        bytes = static_cast<unsigned char *>(sim_control().view(address, size));
        REQUIRE(bytes != nullptr);
        for (std::size_t i = 0; i < size; ++i) {
            bytes[i] = 0;
        }
    }
    void free() { CHECK(d.cuMemFree(address) == good); }
    template <class T>
    T &at(std::size_t offset = 0) {
        return *reinterpret_cast<T *>(bytes + offset);
    }

    CUdeviceptr address = 0;
    unsigned char *bytes = nullptr;
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

CUstreamBatchMemOpParams write_operation(CUdeviceptr address, std::uint64_t value) {
    CUstreamBatchMemOpParams operation{};
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operation.writeValue.address = address;
    operation.writeValue.value64 = value;
    return operation;
}

} // namespace

TEST_CASE("values are written in their width") {
    start(GENERATE_COPY(from_range(all_modes())));
    Memory memory;
    memory.at<std::uint64_t>() = memory.at<std::uint64_t>(8) = 0x1111111111111111u;
    CHECK(d.cuStreamWriteValue32_v2(nullptr, memory.address, 0xdeadbeef, 0) == good);
    CHECK(d.cuStreamWriteValue64_v2(nullptr, memory.address + 8, 0x0123456789abcdefu, 0) == good);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, memory.address + 20, 5, 0) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == good);
    CHECK(memory.at<std::uint64_t>() == 0x11111111deadbeefu);
    CHECK(memory.at<std::uint64_t>(8) == 0x0123456789abcdefu);
    CHECK(memory.at<std::uint64_t>(16) == 0x0000000500000000u);
    memory.free();
}

TEST_CASE("a wait compares as its flags say") {
    constexpr auto top = std::numeric_limits<std::uint32_t>::max();
    const struct {
        std::uint32_t found, wanted;
        unsigned int flags;
        bool goes_on;
    } cases[] = {
        {5, 5, geq, true},    {6, 5, geq, true},
        {4, 5, geq, false},   {0, top, geq, true}, // around the end
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
            start();
            Memory memory;
            const auto extended = [](std::uint32_t value) {
                return static_cast<std::uint64_t>(
                    static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
            };
            const CUstream stream = make_stream();
            if (wide) {
                if (one.found == 0x80000000u) {
                    continue; // its sign is another one there
                }
                memory.at<std::uint64_t>() = extended(one.found);
                REQUIRE(d.cuStreamWaitValue64_v2(stream, memory.address, extended(one.wanted),
                                                 one.flags) == good);
            } else {
                memory.at<std::uint32_t>() = one.found;
                REQUIRE(d.cuStreamWaitValue32_v2(stream, memory.address, one.wanted, one.flags) ==
                        good);
            }
            CHECK(d.cuStreamQuery(stream) == (one.goes_on ? good : CUDA_ERROR_NOT_READY));
            sim_control().reset();
        }
    }
}

TEST_CASE("one stream hands over to another and back") {
    start(GENERATE_COPY(from_range(all_modes())));
    Memory memory;
    RunOrder order;
    const CUstream one = make_stream(), two = make_stream();
    std::vector<int> expected;
    for (std::uint32_t i = 0; i < 20; ++i) {
        const auto number = static_cast<int>(2 * i);
        REQUIRE(order.launch(one, number) == good);
        REQUIRE(d.cuStreamWriteValue32_v2(one, memory.address, i + 1, 0) == good);
        REQUIRE(d.cuStreamWaitValue32_v2(one, memory.address + 4, i + 1, geq) == good);
        REQUIRE(d.cuStreamWaitValue32_v2(two, memory.address, i + 1, geq) == good);
        REQUIRE(order.launch(two, number + 1) == good);
        REQUIRE(d.cuStreamWriteValue32_v2(two, memory.address + 4, i + 1, 0) == good);
        expected.push_back(number);
        expected.push_back(number + 1);
    }
    CHECK(d.cuStreamSynchronize(one) == good);
    CHECK(d.cuStreamSynchronize(two) == good);
    CHECK(order.ran() == expected);
    destroy(one);
    destroy(two);
    memory.free();
}

TEST_CASE("a batch waits in its middle, and its part is done by then") {
    start(GENERATE_COPY(from_range(all_modes())));
    Memory memory;
    RunOrder order;
    const CUstream stream = make_stream(), other = make_stream(non_blocking);
    CUstreamBatchMemOpParams barrier{};
    barrier.memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    barrier.memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU;
    CUstreamBatchMemOpParams operations[] = {
        write_operation(memory.address, 1),         barrier,
        wait_operation(memory.address + 8, 1, eq),  write_operation(memory.address + 16, 1),
        wait_operation(memory.address + 24, 1, eq), write_operation(memory.address + 32, 1)};
    REQUIRE(d.cuStreamBatchMemOp_v2(stream, 6, operations, 0) == good);
    for (auto &operation : operations) {
        operation = {}; // the call has copied them
    }
    REQUIRE(order.launch(stream, 1) == good);
    CHECK(sim_control().drain() == 2);
    CHECK(memory.at<std::uint64_t>() == 1);
    CHECK(memory.at<std::uint64_t>(16) == 0);
    REQUIRE(d.cuStreamWriteValue32_v2(other, memory.address + 8, 1, 0) == good);
    CHECK(sim_control().drain() == 2);
    CHECK(memory.at<std::uint64_t>(16) == 1);
    CHECK(memory.at<std::uint64_t>(32) == 0);
    REQUIRE(d.cuStreamWriteValue32_v2(other, memory.address + 24, 1, 0) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(memory.at<std::uint64_t>(32) == 1);
    CHECK(order.has(1));
    destroy(stream);
    destroy(other);
    memory.free();
}

TEST_CASE("addresses, flags and counts are checked at once") {
    start("attribute.98=0"); // cannot flush remote writes
    Memory memory;
    const CUdeviceptr a = memory.address;
    CHECK(d.cuStreamWaitValue32_v2(nullptr, a + 2, 0, eq) == invalid);
    CHECK(d.cuStreamWaitValue64_v2(nullptr, a + 4, 0, eq) == invalid);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, a + 1, 0, 0) == invalid);
    CHECK(d.cuStreamWriteValue64_v2(nullptr, a + 4, 0, 0) == invalid);
    CHECK(d.cuStreamWaitValue32_v2(nullptr, 0, 0, eq) == invalid);
    CHECK(d.cuStreamWriteValue64_v2(nullptr, a + 64, 0, 0) == invalid);
    CHECK(d.cuStreamWriteValue64_v2(nullptr, ~CUdeviceptr(7), 0, 0) == invalid);
    CHECK(d.cuStreamWaitValue32_v2(nullptr, a, 0, 4) == invalid);
    CHECK(d.cuStreamWaitValue32_v2(nullptr, a, 0, 0x80000000u) == invalid);
    CHECK(d.cuStreamWaitValue32_v2(nullptr, a, 0, eq | CU_STREAM_WAIT_VALUE_FLUSH) ==
          CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, a, 0, 2) == invalid);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, a, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) ==
          invalid);

    CUstreamBatchMemOpParams one = write_operation(a, 1);
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 1, nullptr, 0) == invalid);
    expect_misuse("cuStreamBatchMemOp of a null list");
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 1, &one, 1) == invalid);
    std::vector<CUstreamBatchMemOpParams> many(257, one);
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 257, many.data(), 0) == invalid);
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 256, many.data(), 0) == good);
    many[255].operation = static_cast<CUstreamBatchMemOpType>(99);
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 256, many.data(), 0) == invalid);
    many[255] = {};
    many[255].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    many[255].memoryBarrier.flags = 2;
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 256, many.data(), 0) == invalid);
    many[255] = {};
    many[255].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    CHECK(d.cuStreamBatchMemOp_v2(nullptr, 256, many.data(), 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuCtxSynchronize() == good);

    const CUdeviceptr managed = allocate_managed(64);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, managed, 0, 0) == invalid);
    CHECK(d.cuMemFree(managed) == good);
    memory.free();
}

TEST_CASE("memory that is freed while a stream waits for it is a misuse") {
    start(adversarial(1));
    Memory memory;
    REQUIRE(d.cuStreamWaitValue32_v2(nullptr, memory.address, 1, eq) == good);
    memory.free();
    CHECK_FALSE(misuses().empty());
    CHECK(d.cuStreamSynchronize(nullptr) == CUDA_ERROR_ILLEGAL_ADDRESS);
    const std::size_t count = misuses().size();
    for (std::size_t i = 0; i < count; ++i) {
        expect_misuse("");
    }
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("the first ABI is off where its attribute says so") {
    const bool on = GENERATE(false, true);
    start(on ? "attribute.92=1;attribute.93=1" : "attribute.92=0;attribute.93=0");
    const CUresult expected = on ? good : CUDA_ERROR_NOT_SUPPORTED;
    using Value32 = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
    using Value64 = CUresult (*)(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
    using Batch = CUresult (*)(CUstream, unsigned int, CUstreamBatchMemOpParams *, unsigned int);
    const auto write32 = reinterpret_cast<Value32>(exported("cuStreamWriteValue32"));
    const auto wait32 = reinterpret_cast<Value32>(exported("cuStreamWaitValue32"));
    const auto write64 = reinterpret_cast<Value64>(exported("cuStreamWriteValue64"));
    const auto wait64 = reinterpret_cast<Value64>(exported("cuStreamWaitValue64"));
    const auto batch = reinterpret_cast<Batch>(exported("cuStreamBatchMemOp"));
    Memory memory;
    CHECK(write32(nullptr, memory.address, 5, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) == expected);
    CHECK(wait32(nullptr, memory.address, 5, eq) == expected);
    CHECK(write64(nullptr, memory.address + 8, 6, 0) == expected);
    CHECK(wait64(nullptr, memory.address + 8, 6, eq) == expected);
    CUstreamBatchMemOpParams operation = write_operation(memory.address + 16, 7);
    CHECK(batch(nullptr, 1, &operation, 0) == expected);
    operation = {};
    operation.memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    CHECK(batch(nullptr, 1, &operation, 0) == (on ? invalid : CUDA_ERROR_NOT_SUPPORTED));
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(memory.at<std::uint64_t>(16) == (on ? 7 : 0));
    memory.free();
}
