// Batches of copies.
#include "pool_tools.hpp"

#if CUDA_VERSION >= 13000

using namespace sim_test;

namespace {

// Memory for two copies.
struct Places {
    const DeviceMemory first{64}, second{64};
    const PinnedMemory pinned{64};
    Bytes pageable = pattern(64, 1);
    const Stream stream{non_blocking};
};

struct Batch {
    explicit Batch(Places &places)
        : destinations{places.first, places.second},
          sources{as_device(places.pageable.data()), as_device(places.pinned)},
          stream(places.stream) {
        attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    }
    CUresult run() {
        return driver().cuMemcpyBatchAsync(destinations, sources, sizes, count, attributes, indices,
                                           attribute_count, stream);
    }
    void finish() const { ok(driver().cuStreamSynchronize(stream)); }

    CUdeviceptr destinations[2], sources[2];
    CUstream stream;
    std::size_t sizes[2] = {16, 32}, indices[2] = {0, 1}, count = 2, attribute_count = 2;
    CUmemcpyAttributes attributes[2] = {};
};

} // namespace

TEST_CASE("a batch runs all its copies") {
    start(GENERATE_COPY(from_range(all_modes())));
    Places places;
    Batch batch(places);
    std::memcpy(places.pinned, pattern(64, 2).data(), 64);
    ok(batch.run());
    batch.finish();
    CHECK(std::memcmp(view(places.first, 16), pattern(64, 1).data(), 16) == 0);
    CHECK(std::memcmp(view(places.second, 32), pattern(64, 2).data(), 32) == 0);
}

TEST_CASE("a batch fails if the stream's device lacks access to its memory") {
    start("devices=2");
    const Pool pool(pool_properties(1));
    Places places;
    Batch batch(places);
    CUcontext own = current();
    const OnDevice other(1);
    const PoolMemory there(64, pool);
    synchronize_stream();
    require_ok(driver().cuCtxPushCurrent(own));
    batch.destinations[1] = there;
    CHECK(batch.run() == invalid);
    batch.finish();
    const auto access = grant(0);
    require_ok(driver().cuMemPoolSetAccess(pool, &access, 1));
    ok(batch.run());
    batch.finish();
    require_ok(driver().cuCtxPopCurrent(&own));
}

TEST_CASE("the attributes and each copy of a batch are checked") {
    Places places;
    const Batch valid(places);
    const auto with = [&](auto change) {
        Batch changed = valid;
        change(changed);
        const CUresult status = changed.run();
        synchronize();
        return status;
    };
    using B = Batch;
    ok(with([](B &b) { b.stream = CU_STREAM_PER_THREAD; }));
    ok(with([](B &b) { b.attributes[0].flags = 1; }));
    CHECK(with([](B &b) { b.attribute_count = 3; }) == invalid);
    CHECK(with([](B &b) { b.indices[0] = 1, b.attribute_count = 1; }) == invalid);
    CHECK(with([](B &b) { b.indices[1] = 0; }) == invalid);
    CHECK(with([](B &b) { b.indices[1] = 2; }) == invalid);
    CHECK(with([](B &b) { b.stream = CU_STREAM_LEGACY; }) == invalid);
    CHECK(with([](B &b) { b.destinations[1] += 60; }) == invalid);
    CHECK(with([](B &b) { b.attributes[0].flags = 8; }) == invalid);
    Batch b = valid;
    CHECK(driver().cuMemcpyBatchAsync(nullptr, b.sources, b.sizes, 2, b.attributes, b.indices, 1,
                                      b.stream) == invalid);
    // The capture of the stream remains valid.
    require_ok(driver().cuStreamBeginCapture(b.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(b.run() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    destroy(got<CUgraph>(&Driver::cuStreamEndCapture, b.stream, out));
}

TEST_CASE("the access order decides when a batch reads its sources") {
    start("mode=adversarial");
    Places places;
    Batch batch(places);
    batch.sources[0] = as_device(places.pinned);
    batch.attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    batch.attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    std::memset(places.pinned, 1, 64);
    require_ok(batch.run());
    std::memset(places.pinned, 2, 64);
    batch.finish();
    CHECK(view(places.first, 1)[0] == 1);
    CHECK(view(places.second, 1)[0] == 2);
}

TEST_CASE("a batch copies blocks of memory and arrays") {
    const DeviceMemory device(1024);
    const Stream stream(non_blocking);
    const PinnedMemory pinned(1024);
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
        return driver().cuMemcpy3DBatchAsync(1, &operation, 0, stream);
    };
    using O = CUDA_MEMCPY3D_BATCH_OP;
    ok(with([](O &) {}));
    synchronize();
    CHECK(std::memcmp(view(device, 64), bytes.data(), 64) == 0);
    ok(with([](O &o) { o.src.op.ptr.rowLength = 32, o.src.op.ptr.layerHeight = 4; }));
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
    CHECK(with([](O &o) { o.src.type = static_cast<CUmemcpy3DOperandType>(7); }) == invalid);
    CHECK(driver().cuMemcpy3DBatchAsync(1, nullptr, 0, stream) == invalid);
    // Extents are in elements if an array takes part.
    const Array array({8, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0});
    CUDA_MEMCPY3D_BATCH_OP to_array = plain;
    to_array.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    to_array.dst.op.array.array = array;
    to_array.dst.op.array.offset = {2, 1, 0};
    to_array.extent = {4, 3, 1};
    ok(driver().cuMemcpy3DBatchAsync(1, &to_array, 0, stream));
    Bytes read(16);
    CUDA_MEMCPY2D row{.srcXInBytes = 8,
                      .srcY = 3,
                      .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                      .srcArray = array,
                      .dstMemoryType = CU_MEMORYTYPE_HOST,
                      .dstHost = read.data(),
                      .WidthInBytes = 16,
                      .Height = 1};
    ok(driver().cuMemcpy2DAsync(&row, stream));
    CHECK(std::memcmp(read.data(), bytes.data() + 32, 16) == 0);
    to_array.extent = {7, 3, 1};
    CHECK(driver().cuMemcpy3DBatchAsync(1, &to_array, 0, stream) == invalid);
}

TEST_CASE("the first ABI of a batch reports the index of the failed copy") {
    Places places;
    Batch batch(places);
    std::size_t failed = 0;
    const auto run = [&](std::size_t count) {
        return driver().cuMemcpyBatchAsync_v1(batch.destinations, batch.sources, batch.sizes, count,
                                              batch.attributes, batch.indices, 1, &failed,
                                              batch.stream);
    };
    ok(run(2));
    CHECK(run(0) == invalid);
    CHECK(failed == ~std::size_t(0)); // not a single copy
    batch.sizes[1] = 65;
    CHECK(run(2) == invalid);
    CHECK(failed == 1);
    batch.finish();
}

#endif
