// Copies and memsets in streams, between devices, in batches.
#include "../../record.hpp"

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
        ask("cuStreamSynchronize at the end", d.cuStreamSynchronize(s));
        d.cuStreamDestroy(s);
        d.cuMemFree(p);
        d.cuMemFree(q);
        d.cuMemFreeHost(host);
    }
};

CUDA_MEMCPY3D block(CUdeviceptr from, CUdeviceptr to) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.srcPitch = copy.dstPitch = 64;
    copy.srcHeight = copy.dstHeight = 4;
    copy.WidthInBytes = 32;
    copy.Height = 4;
    copy.Depth = 2;
    return copy;
}

} // namespace

void stream_copies() {
    if (!start()) {
        return;
    }
    const Buffers b;
    const auto host = reinterpret_cast<CUdeviceptr>(b.host);
    ask("cuMemcpy to 0", d.cuMemcpy(0, b.p, 16));
    ask("cuMemcpyDtoD to 0", d.cuMemcpyDtoD(0, b.p, 16));
    ask("cuMemcpyAsync", d.cuMemcpyAsync(b.p, host, 16, b.s));
    ask("cuMemcpyAsync to 0", d.cuMemcpyAsync(0, host, 16, b.s));
    ask("cuMemcpyHtoDAsync", d.cuMemcpyHtoDAsync(b.p, b.host, 16, b.s));
    ask("cuMemcpyHtoDAsync to 0", d.cuMemcpyHtoDAsync(0, b.host, 16, b.s));
    ask("cuMemcpyHtoDAsync null source", d.cuMemcpyHtoDAsync(b.p, nullptr, 16, b.s));
    ask("cuMemcpyDtoHAsync", d.cuMemcpyDtoHAsync(b.host, b.p, 16, b.s));
    ask("cuMemcpyDtoHAsync from 0", d.cuMemcpyDtoHAsync(b.host, 0, 16, b.s));
    ask("cuMemcpyDtoDAsync", d.cuMemcpyDtoDAsync(b.q, b.p, 16, b.s));
    ask("cuMemcpyDtoDAsync from 0", d.cuMemcpyDtoDAsync(b.q, 0, 16, b.s));
    ask("cuMemcpyDtoDAsync 0 bytes", d.cuMemcpyDtoDAsync(b.q, b.p, 0, b.s));
    ask("cuMemcpyPeer from 0", d.cuMemcpyPeer(b.p, context(), 0, context(), 16));
    ask("cuMemcpyPeerAsync", d.cuMemcpyPeerAsync(b.p, context(), b.q, context(), 16, b.s));
    ask("cuMemcpyPeerAsync from 0", d.cuMemcpyPeerAsync(b.p, context(), 0, context(), 16, b.s));
    CUDA_MEMCPY2D two{};
    two.srcMemoryType = CU_MEMORYTYPE_HOST;
    two.srcHost = b.host;
    two.srcPitch = two.dstPitch = 64;
    two.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    two.dstDevice = b.p;
    two.WidthInBytes = 32;
    two.Height = 4;
    ask("cuMemcpy2DUnaligned", d.cuMemcpy2DUnaligned(&two));
    ask("cuMemcpy2DAsync", d.cuMemcpy2DAsync(&two, b.s));
    two.srcPitch = 16;
    ask("cuMemcpy2DUnaligned pitch under width", d.cuMemcpy2DUnaligned(&two));
    ask("cuMemcpy2DAsync pitch under width", d.cuMemcpy2DAsync(&two, b.s));
    auto three = block(b.p, b.q);
    ask("cuMemcpy3DAsync", d.cuMemcpy3DAsync(&three, b.s));
    three.srcPitch = 16;
    ask("cuMemcpy3DAsync pitch under width", d.cuMemcpy3DAsync(&three, b.s));
    CUDA_MEMCPY3D_PEER peer{};
    peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    peer.srcDevice = b.p;
    peer.dstDevice = b.q;
    peer.srcContext = peer.dstContext = context();
    peer.srcPitch = peer.dstPitch = 64;
    peer.srcHeight = peer.dstHeight = 4;
    peer.WidthInBytes = 32;
    peer.Height = 4;
    peer.Depth = 2;
    ask("cuMemcpy3DPeer", d.cuMemcpy3DPeer(&peer));
    ask("cuMemcpy3DPeerAsync", d.cuMemcpy3DPeerAsync(&peer, b.s));
    peer.srcPitch = 16;
    ask("cuMemcpy3DPeer pitch under width", d.cuMemcpy3DPeer(&peer));
    ask("cuMemcpy3DPeerAsync pitch under width", d.cuMemcpy3DPeerAsync(&peer, b.s));
}

void memsets() {
    if (!start()) {
        return;
    }
    const Buffers b;
    ask("cuMemsetD8", d.cuMemsetD8(b.p, 1, 16));
    ask("cuMemsetD16", d.cuMemsetD16(b.p, 1, 16));
    ask("cuMemsetD16 of garbage", d.cuMemsetD16(garbage, 1, 16));
    ask("cuMemsetD32", d.cuMemsetD32(b.p, 1, 16));
    ask("cuMemsetD8Async", d.cuMemsetD8Async(b.p, 1, 16, b.s));
    ask("cuMemsetD8Async at 0", d.cuMemsetD8Async(0, 1, 16, b.s));
    ask("cuMemsetD8Async 0 bytes", d.cuMemsetD8Async(b.p, 1, 0, b.s));
    ask("cuMemsetD16Async", d.cuMemsetD16Async(b.p, 1, 16, b.s));
    ask("cuMemsetD16Async unaligned", d.cuMemsetD16Async(b.p + 1, 1, 16, b.s));
    ask("cuMemsetD32Async", d.cuMemsetD32Async(b.p, 1, 16, b.s));
    ask("cuMemsetD32Async unaligned", d.cuMemsetD32Async(b.p + 2, 1, 16, b.s));
    ask("cuMemsetD2D16", d.cuMemsetD2D16(b.p, 64, 1, 16, 4));
    ask("cuMemsetD2D16 unaligned", d.cuMemsetD2D16(b.p + 1, 64, 1, 16, 4));
    ask("cuMemsetD2D16 width over pitch", d.cuMemsetD2D16(b.p, 64, 1, 33, 4));
    ask("cuMemsetD2D32", d.cuMemsetD2D32(b.p, 64, 1, 16, 4));
    ask("cuMemsetD2D8Async", d.cuMemsetD2D8Async(b.p, 64, 1, 32, 4, b.s));
    ask("cuMemsetD2D8Async width over pitch", d.cuMemsetD2D8Async(b.p, 64, 1, 65, 4, b.s));
    ask("cuMemsetD2D16Async", d.cuMemsetD2D16Async(b.p, 64, 1, 16, 4, b.s));
    ask("cuMemsetD2D16Async width over pitch", d.cuMemsetD2D16Async(b.p, 64, 1, 33, 4, b.s));
    ask("cuMemsetD2D32Async", d.cuMemsetD2D32Async(b.p, 64, 1, 16, 4, b.s));
    ask("cuMemsetD2D32Async width over pitch", d.cuMemsetD2D32Async(b.p, 64, 1, 17, 4, b.s));
}

void batch_copies() {
    if (!start()) {
        return;
    }
    const Buffers b;
    CUdeviceptr to[] = {b.p, b.p + 4096}, from[] = {b.q, b.q + 4096};
    std::size_t sizes[] = {64, 128}, first[] = {0};
    CUmemcpyAttributes how{};
    how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    ask("cuMemcpyBatchAsync", d.cuMemcpyBatchAsync(to, from, sizes, 2, &how, first, 1, b.s));
    ask("cuMemcpyBatchAsync of 0 copies",
        d.cuMemcpyBatchAsync(to, from, sizes, 0, &how, first, 1, b.s));
    ask("cuMemcpyBatchAsync without attributes",
        d.cuMemcpyBatchAsync(to, from, sizes, 2, nullptr, nullptr, 0, b.s));
    ask("cuMemcpyBatchAsync in the default stream",
        d.cuMemcpyBatchAsync(to, from, sizes, 2, &how, first, 1, nullptr));
    sizes[1] = 0;
    ask("cuMemcpyBatchAsync with a size of 0",
        d.cuMemcpyBatchAsync(to, from, sizes, 2, &how, first, 1, b.s));
    sizes[1] = 128;
    how.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(77);
    ask("cuMemcpyBatchAsync access order 77",
        d.cuMemcpyBatchAsync(to, from, sizes, 2, &how, first, 1, b.s));
    CUDA_MEMCPY3D_BATCH_OP op{};
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = b.q;
    op.dst.op.ptr.ptr = b.p;
    op.extent.width = 64;
    op.extent.height = op.extent.depth = 1;
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    ask("cuMemcpy3DBatchAsync", d.cuMemcpy3DBatchAsync(1, &op, 0, b.s));
    ask("cuMemcpy3DBatchAsync of 0 copies", d.cuMemcpy3DBatchAsync(0, &op, 0, b.s));
    ask("cuMemcpy3DBatchAsync flags 1", d.cuMemcpy3DBatchAsync(1, &op, 1, b.s));
    ask("cuMemcpy3DBatchAsync in the default stream", d.cuMemcpy3DBatchAsync(1, &op, 0, nullptr));
    op.src.type = static_cast<CUmemcpy3DOperandType>(77);
    ask("cuMemcpy3DBatchAsync operand 77", d.cuMemcpy3DBatchAsync(1, &op, 0, b.s));
}

} // namespace record::QUESTIONS
