// Copies and memsets in streams, between devices, in batches.
#include "../parameters.hpp"

#include <vector>

namespace record::QUESTIONS {

namespace {

constexpr CUdeviceptr garbage = 0x1234560;

// Two buffers on the device, one in pinned memory, a stream.
struct Buffers {
    CUdeviceptr p = 0, q = 0;
    void *host = nullptr;
    CUstream s = nullptr;

    Buffers() {
        d.cuMemAlloc(&p, 1 << 16);
        d.cuMemAlloc(&q, 1 << 16);
        d.cuMemHostAlloc(&host, 1 << 16, 0);
        d.cuStreamCreate(&s, 0);
    }
    ~Buffers() {
        ASK(cuStreamSynchronize, " at the end", s);
        d.cuStreamDestroy(s);
        d.cuMemFree(p);
        d.cuMemFree(q);
        d.cuMemFreeHost(host);
    }
};

} // namespace

SECTION("stream_copies", start) {
    const Buffers b;
    const auto host = reinterpret_cast<CUdeviceptr>(b.host);
    ASK(cuMemcpy, " to 0", 0, b.p, 16);
    ASK(cuMemcpyDtoD, " to 0", 0, b.p, 16);
    ASK(cuMemcpyAsync, "", b.p, host, 16, b.s);
    ASK(cuMemcpyAsync, " to 0", 0, host, 16, b.s);
    ASK(cuMemcpyHtoDAsync, "", b.p, b.host, 16, b.s);
    ASK(cuMemcpyHtoDAsync, " to 0", 0, b.host, 16, b.s);
    ASK(cuMemcpyHtoDAsync, " null source", b.p, nullptr, 16, b.s);
    ASK(cuMemcpyDtoHAsync, "", b.host, b.p, 16, b.s);
    ASK(cuMemcpyDtoHAsync, " from 0", b.host, 0, 16, b.s);
    ASK(cuMemcpyDtoDAsync, "", b.q, b.p, 16, b.s);
    ASK(cuMemcpyDtoDAsync, " from 0", b.q, 0, 16, b.s);
    ASK(cuMemcpyDtoDAsync, " 0 bytes", b.q, b.p, 0, b.s);
    ASK(cuMemcpyPeer, " from 0", b.p, context(), 0, context(), 16);
    ASK(cuMemcpyPeerAsync, "", b.p, context(), b.q, context(), 16, b.s);
    ASK(cuMemcpyPeerAsync, " from 0", b.p, context(), 0, context(), 16, b.s);
    auto two = copy_of<CUDA_MEMCPY2D>(b.p, 0, 32, 64, 4);
    two.srcMemoryType = CU_MEMORYTYPE_HOST;
    two.srcHost = b.host;
    ASK(cuMemcpy2DUnaligned, "", &two);
    ASK(cuMemcpy2DAsync, "", &two, b.s);
    two.srcPitch = 16;
    ASK(cuMemcpy2DUnaligned, " pitch under width", &two);
    ASK(cuMemcpy2DAsync, " pitch under width", &two, b.s);
    auto three = copy_of<CUDA_MEMCPY3D>(b.q, b.p, 32, 64, 4, 2);
    ASK(cuMemcpy3DAsync, "", &three, b.s);
    three.srcPitch = 16;
    ASK(cuMemcpy3DAsync, " pitch under width", &three, b.s);
    auto peer = copy_of<CUDA_MEMCPY3D_PEER>(b.q, b.p, 32, 64, 4, 2);
    peer.srcContext = peer.dstContext = context();
    ASK(cuMemcpy3DPeer, "", &peer);
    ASK(cuMemcpy3DPeerAsync, "", &peer, b.s);
    peer.srcPitch = 16;
    ASK(cuMemcpy3DPeer, " pitch under width", &peer);
    ASK(cuMemcpy3DPeerAsync, " pitch under width", &peer, b.s);
}

SECTION("memsets", start) {
    const Buffers b;
    ASK(cuMemsetD8, "", b.p, 1, 16);
    ASK(cuMemsetD16, "", b.p, 1, 16);
    ASK(cuMemsetD16, " of garbage", garbage, 1, 16);
    ASK(cuMemsetD32, "", b.p, 1, 16);
    ASK(cuMemsetD8Async, "", b.p, 1, 16, b.s);
    ASK(cuMemsetD8Async, " at 0", 0, 1, 16, b.s);
    ASK(cuMemsetD8Async, " 0 bytes", b.p, 1, 0, b.s);
    ASK(cuMemsetD16Async, "", b.p, 1, 16, b.s);
    ASK(cuMemsetD16Async, " unaligned", b.p + 1, 1, 16, b.s);
    ASK(cuMemsetD32Async, "", b.p, 1, 16, b.s);
    ASK(cuMemsetD32Async, " unaligned", b.p + 2, 1, 16, b.s);
    ASK(cuMemsetD2D16, "", b.p, 64, 1, 16, 4);
    ASK(cuMemsetD2D16, " unaligned", b.p + 1, 64, 1, 16, 4);
    ASK(cuMemsetD2D16, " width over pitch", b.p, 64, 1, 33, 4);
    ASK(cuMemsetD2D32, "", b.p, 64, 1, 16, 4);
    ASK(cuMemsetD2D8Async, "", b.p, 64, 1, 32, 4, b.s);
    ASK(cuMemsetD2D8Async, " width over pitch", b.p, 64, 1, 65, 4, b.s);
    ASK(cuMemsetD2D16Async, "", b.p, 64, 1, 16, 4, b.s);
    ASK(cuMemsetD2D16Async, " width over pitch", b.p, 64, 1, 33, 4, b.s);
    ASK(cuMemsetD2D32Async, "", b.p, 64, 1, 16, 4, b.s);
    ASK(cuMemsetD2D32Async, " width over pitch", b.p, 64, 1, 17, 4, b.s);
}

SECTION("batch_copies", start) {
    const Buffers b;
    CUdeviceptr to[] = {b.p, b.p + 4096}, from[] = {b.q, b.q + 4096};
    std::size_t sizes[] = {64, 128}, first[] = {0};
    CUmemcpyAttributes how{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    ASK(cuMemcpyBatchAsync, "", to, from, sizes, 2, &how, first, 1, b.s);
    ASK(cuMemcpyBatchAsync, " of 0 copies", to, from, sizes, 0, &how, first, 1, b.s);
    ASK(cuMemcpyBatchAsync, " without attributes", to, from, sizes, 2, nullptr, nullptr, 0, b.s);
    ASK(cuMemcpyBatchAsync, " in the default stream", to, from, sizes, 2, &how, first, 1, nullptr);
    sizes[1] = 0;
    ASK(cuMemcpyBatchAsync, " with a size of 0", to, from, sizes, 2, &how, first, 1, b.s);
    sizes[1] = 128;
    how.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(77);
    ASK(cuMemcpyBatchAsync, " access order 77", to, from, sizes, 2, &how, first, 1, b.s);
    CUDA_MEMCPY3D_BATCH_OP op{};
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = b.q;
    op.dst.op.ptr.ptr = b.p;
    op.extent.width = 64;
    op.extent.height = op.extent.depth = 1;
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    ASK(cuMemcpy3DBatchAsync, "", 1, &op, 0, b.s);
    ASK(cuMemcpy3DBatchAsync, " of 0 copies", 0, &op, 0, b.s);
    ASK(cuMemcpy3DBatchAsync, " flags 1", 1, &op, 1, b.s);
    ASK(cuMemcpy3DBatchAsync, " in the default stream", 1, &op, 0, nullptr);
    op.src.type = static_cast<CUmemcpy3DOperandType>(77);
    ASK(cuMemcpy3DBatchAsync, " operand 77", 1, &op, 0, b.s);
}

} // namespace record::QUESTIONS
