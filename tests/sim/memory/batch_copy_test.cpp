// Batches of copies.
#include "memory_tools.hpp"
#include "pool_tools.hpp"

#if CUDA_VERSION >= 13000

using namespace sim_test;

namespace {

struct Batch {
    Batch()
        : first(allocate(64)), second(allocate(64)), pinned(as_device(allocate_pinned(64))),
          stream(make_stream(non_blocking)) {
        attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
        destinations[0] = first;
        destinations[1] = second;
        sources[0] = as_device(pageable.data());
        sources[1] = pinned;
    }
    void end() {
        synchronize();
        destroy(stream);
        release(first);
        release(second);
        release(as_host(pinned));
    }
    CUresult run() {
        return d.cuMemcpyBatchAsync(destinations, sources, sizes, count, attributes, indices,
                                    attribute_count, stream);
    }

    Bytes pageable = pattern(64, 1);
    CUdeviceptr first, second, pinned;
    CUstream stream;
    CUdeviceptr destinations[2] = {}, sources[2] = {};
    std::size_t sizes[2] = {16, 32}, indices[2] = {0, 1}, count = 2, attribute_count = 2;
    CUmemcpyAttributes attributes[2] = {};
};

} // namespace

TEST_CASE("a batch copies all") {
    start(GENERATE_COPY(from_range(all_modes())));
    Batch batch;
    std::memcpy(as_host(batch.pinned), pattern(64, 2).data(), 64);
    CHECK(batch.run() == good);
    CHECK(d.cuStreamSynchronize(batch.stream) == good);
    CHECK(std::memcmp(view(batch.first, 16), pattern(64, 1).data(), 16) == 0);
    CHECK(std::memcmp(view(batch.second, 32), pattern(64, 2).data(), 32) == 0);
    batch.end();
}

TEST_CASE("a batch is refused where the stream's device has no access") {
    start("devices=2");
    const CUmemoryPool pool = create_pool(pool_properties(1));
    Batch batch;
    CUcontext own = current();
    CUdeviceptr there = 0;
    {
        const OnDevice other(1);
        there = allocate(pool, 64);
        synchronize_stream();
        REQUIRE(d.cuCtxPushCurrent(own) == good);
        batch.destinations[1] = there;
        CHECK(batch.run() == invalid);
        CHECK(d.cuStreamSynchronize(batch.stream) == good);
        const auto access = grant(0);
        REQUIRE(d.cuMemPoolSetAccess(pool, &access, 1) == good);
        CHECK(batch.run() == good);
        CHECK(d.cuStreamSynchronize(batch.stream) == good);
        REQUIRE(d.cuCtxPopCurrent(&own) == good);
        free_async(there);
        synchronize_stream();
    }
    destroy(pool);
    batch.end();
}

TEST_CASE("batches that are refused, and those that are not") {
    start();
    Batch batch;
    const auto with = [&](auto change) {
        Batch changed = batch;
        changed.sources[0] = as_device(changed.pageable.data());
        change(changed);
        const CUresult status = changed.run();
        synchronize();
        return status;
    };
    using B = Batch;
    CHECK(with([](B &) {}) == good);
    CHECK(with([](B &b) { b.count = 0; }) == invalid);
    CHECK(with([](B &b) { b.attribute_count = 0; }) == invalid);
    CHECK(with([](B &b) { b.attribute_count = 3; }) == invalid);
    CHECK(with([](B &b) { b.indices[0] = 1, b.attribute_count = 1; }) == invalid);
    CHECK(with([](B &b) { b.indices[1] = 0; }) == invalid);
    CHECK(with([](B &b) { b.indices[1] = 2; }) == invalid);
    CHECK(with([](B &b) { b.stream = nullptr; }) == invalid);
    CHECK(with([](B &b) { b.stream = CU_STREAM_LEGACY; }) == invalid);
    CHECK(with([](B &b) { b.stream = CU_STREAM_PER_THREAD; }) == good);
    CHECK(with([](B &b) { b.sizes[1] = 0; }) == invalid);
    CHECK(with([](B &b) { b.destinations[1] = 0; }) == invalid);
    CHECK(with([](B &b) { b.destinations[1] += 60; }) == invalid);
    CHECK(with([](B &b) { b.attributes[0].flags = 1; }) == good);
    CHECK(with([](B &b) { b.attributes[0].flags = 8; }) == invalid);
    const auto ordered = [&](int order) {
        return with([order](B &b) {
            b.attributes[0].srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(order);
        });
    };
    CHECK(ordered(0) == invalid);
    CHECK(ordered(9) == invalid);
    CHECK(ordered(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL) == good);
    CHECK(d.cuMemcpyBatchAsync(nullptr, batch.sources, batch.sizes, 2, batch.attributes,
                               batch.indices, 1, batch.stream) == invalid);
    CHECK(d.cuMemcpyBatchAsync(batch.destinations, batch.sources, batch.sizes, 2, nullptr, nullptr,
                               0, batch.stream) == invalid);
    // A stream that captures goes on capturing.
    REQUIRE(d.cuStreamBeginCapture(batch.stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == good);
    CHECK(batch.run() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    REQUIRE(d.cuGraphDestroy(got<CUgraph>(&Driver::cuStreamEndCapture, batch.stream, out)) == good);
    batch.end();
}

TEST_CASE("when a batch reads its sources") {
    start("mode=adversarial");
    Batch batch;
    batch.sources[0] = batch.pinned;
    batch.attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    batch.attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    std::memset(as_host(batch.pinned), 1, 64);
    REQUIRE(batch.run() == good);
    std::memset(as_host(batch.pinned), 2, 64);
    CHECK(d.cuStreamSynchronize(batch.stream) == good);
    CHECK(view(batch.first, 1)[0] == 1);
    CHECK(view(batch.second, 1)[0] == 2);
    batch.end();
}

TEST_CASE("batches of blocks") {
    start();
    const DeviceMemory device(1024);
    const Stream stream(non_blocking);
    auto *pinned = static_cast<unsigned char *>(allocate_pinned(1024));
    const Bytes bytes = pattern(1024, 5);
    std::memcpy(pinned, bytes.data(), bytes.size());
    CUDA_MEMCPY3D_BATCH_OP plain{};
    plain.src.type = plain.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    plain.src.op.ptr.ptr = as_device(pinned);
    plain.dst.op.ptr.ptr = device;
    plain.extent = {16, 2, 2};
    plain.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    const auto with = [&](auto change) {
        CUDA_MEMCPY3D_BATCH_OP operation = plain;
        change(operation);
        return d.cuMemcpy3DBatchAsync(1, &operation, 0, stream);
    };
    using O = CUDA_MEMCPY3D_BATCH_OP;
    CHECK(with([](O &) {}) == good);
    synchronize();
    CHECK(std::memcmp(view(device, 64), bytes.data(), 64) == 0);
    CHECK(with([](O &o) { o.src.op.ptr.rowLength = 32, o.src.op.ptr.layerHeight = 4; }) == good);
    synchronize();
    for (std::size_t z = 0; z < 2; ++z) {
        for (std::size_t y = 0; y < 2; ++y) {
            CHECK(std::memcmp(view(device, 64) + (z * 2 + y) * 16, bytes.data() + (z * 4 + y) * 32,
                              16) == 0);
        }
    }
    CHECK(with([](O &o) { o.src.op.ptr.rowLength = 8; }) == invalid);
    CHECK(with([](O &o) { o.src.op.ptr.rowLength = 32, o.src.op.ptr.layerHeight = 1; }) == invalid);
    CHECK(with([](O &o) { o.extent.width = 0; }) == invalid);
    CHECK(with([](O &o) { o.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(0); }) == invalid);
    CHECK(with([](O &o) { o.src.type = static_cast<CUmemcpy3DOperandType>(7); }) == invalid);
    CHECK(d.cuMemcpy3DBatchAsync(0, &plain, 0, stream) == invalid);
    CHECK(d.cuMemcpy3DBatchAsync(1, nullptr, 0, stream) == invalid);
    CHECK(d.cuMemcpy3DBatchAsync(1, &plain, 1, stream) == invalid);
    CHECK(d.cuMemcpy3DBatchAsync(1, &plain, 0, nullptr) == invalid);
    // Between memory and an array everything counts in elements.
    CUDA_ARRAY3D_DESCRIPTOR description{
        .Width = 8, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array = nullptr;
    REQUIRE(d.cuArray3DCreate(&array, &description) == good);
    CUDA_MEMCPY3D_BATCH_OP to_array = plain;
    to_array.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    to_array.dst.op.array.array = array;
    to_array.dst.op.array.offset = {2, 1, 0};
    to_array.extent = {4, 3, 1};
    CHECK(d.cuMemcpy3DBatchAsync(1, &to_array, 0, stream) == good);
    Bytes read(16);
    CUDA_MEMCPY2D row{.srcXInBytes = 8,
                      .srcY = 3,
                      .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                      .srcArray = array,
                      .dstMemoryType = CU_MEMORYTYPE_HOST,
                      .dstHost = read.data(),
                      .WidthInBytes = 16,
                      .Height = 1};
    CHECK(d.cuMemcpy2DAsync(&row, stream) == good);
    CHECK(std::memcmp(read.data(), bytes.data() + 32, 16) == 0);
    to_array.extent = {7, 3, 1};
    CHECK(d.cuMemcpy3DBatchAsync(1, &to_array, 0, stream) == invalid);
    REQUIRE(d.cuArrayDestroy(array) == good);
    release(pinned);
}

TEST_CASE("the first form of a batch says which copy is wrong") {
    start();
    using Form =
        CUresult (*)(CUdeviceptr *, CUdeviceptr *, std::size_t *, std::size_t, CUmemcpyAttributes *,
                     std::size_t *, std::size_t, std::size_t *, CUstream);
    const auto first_form = reinterpret_cast<Form>(exported("cuMemcpyBatchAsync"));
    REQUIRE(first_form != nullptr);
    Batch batch;
    std::size_t failed = 0;
    const auto run = [&](std::size_t count) {
        return first_form(batch.destinations, batch.sources, batch.sizes, count, batch.attributes,
                          batch.indices, 1, &failed, batch.stream);
    };
    CHECK(run(2) == good);
    CHECK(run(0) == invalid);
    CHECK(failed == ~std::size_t(0)); // none of them
    batch.sizes[1] = 65;
    CHECK(run(2) == invalid);
    CHECK(failed == 1);
    batch.end();
}

#else

TEST_CASE("batches of copies are newer than these headers") {
    SKIP("the headers of this build are older");
}

#endif
