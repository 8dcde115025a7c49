// Copies between two devices in both directions, in streams of either, with and without access.
#include "../parameters.hpp"
#include "copies_between.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

CUDA_MEMCPY3D_PEER block_of_peers(const Side &to, const Side &from) {
    auto block = copy_of<CUDA_MEMCPY3D_PEER>(to.memory, from.memory, 64, 64, 4, 2);
    block.srcContext = from.context;
    block.dstContext = to.context;
    return block;
}

CUDA_MEMCPY3D block_of(const Side &to, const Side &from) {
    return copy_of<CUDA_MEMCPY3D>(to.memory, from.memory, 64, 64, 4, 2);
}

CUDA_MEMCPY2D rows_of(const Side &to, const Side &from) {
    return copy_of<CUDA_MEMCPY2D>(to.memory, from.memory, 64, 64, 8);
}

CUresult batch(const Side &to, const Side &from, CUstream stream) {
    CUdeviceptr destination = to.memory, source = from.memory;
    std::size_t size = length, first = 0;
    CUmemcpyAttributes how{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    return d.cuMemcpyBatchAsync(&destination, &source, &size, 1, &how, &first, 1, stream);
}

CUresult block_batch(const Side &to, const Side &from, CUstream stream) {
    CUDA_MEMCPY3D_BATCH_OP block{};
    block.src.type = block.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    block.src.op.ptr.ptr = from.memory;
    block.dst.op.ptr.ptr = to.memory;
    block.extent.width = length;
    block.extent.height = block.extent.depth = 1;
    block.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    return d.cuMemcpy3DBatchAsync(1, &block, 0, stream);
}

constexpr const char *kinds[] = {"peers", "plain", "blocks", "batches"};
constexpr CopyBetween<CUresult, CUstream> copies_between[] = {
    {"peers", "cuMemcpyPeer", false,
     COPY(d.cuMemcpyPeer(to.memory, to.context, from.memory, from.context, length))},
    {"peers", "cuMemcpy3DPeer", false,
     COPY(d.cuMemcpy3DPeer(address_of(block_of_peers(to, from))))},
    {"plain", "cuMemcpyDtoD", false, COPY(d.cuMemcpyDtoD(to.memory, from.memory, length))},
    {"plain", "cuMemcpy", false, COPY(d.cuMemcpy(to.memory, from.memory, length))},
    {"blocks", "cuMemcpy2D", false, COPY(d.cuMemcpy2D(address_of(rows_of(to, from))))},
    {"blocks", "cuMemcpy3D", false, COPY(d.cuMemcpy3D(address_of(block_of(to, from))))},
    {"peers", "cuMemcpyPeerAsync", true,
     COPY(d.cuMemcpyPeerAsync(to.memory, to.context, from.memory, from.context, length, stream))},
    {"peers", "cuMemcpy3DPeerAsync", true,
     COPY(d.cuMemcpy3DPeerAsync(address_of(block_of_peers(to, from)), stream))},
    {"plain", "cuMemcpyDtoDAsync", true,
     COPY(d.cuMemcpyDtoDAsync(to.memory, from.memory, length, stream))},
    {"plain", "cuMemcpyAsync", true, COPY(d.cuMemcpyAsync(to.memory, from.memory, length, stream))},
    {"blocks", "cuMemcpy3DAsync", true,
     COPY(d.cuMemcpy3DAsync(address_of(block_of(to, from)), stream))},
    {"batches", "cuMemcpyBatchAsync", true, batch},
    {"batches", "cuMemcpy3DBatchAsync", true, block_batch},
};

// Device 1's memory and host memory, while device 0's context is current.
void copy_to_host(const Sides &of) {
    unsigned char bytes[16] = "";
    void *pinned = MAKE(cuMemHostAlloc, sizeof bytes, 0);
    of.one.fill(3);
    tell("cuMemcpyDtoH", d.cuMemcpyDtoH(bytes, of.one.memory, 16), bytes[15]);
    ASK(cuMemcpyDtoHAsync, ", stream of 0", pinned, of.one.memory, 16, of.zero.stream);
    ASK(cuMemcpyDtoHAsync, ", stream of 1", pinned, of.one.memory, 16, of.one.stream);
    of.synchronize();
    of.one.fill(1);
    ASK(cuMemcpyHtoD, "", of.one.memory, bytes, 16);
    ASK(cuMemcpyHtoDAsync, ", stream of 0", of.one.memory, pinned, 16, of.zero.stream);
    ASK(cuMemcpyHtoDAsync, ", stream of 1", of.one.memory, pinned, 16, of.one.stream);
    of.synchronize();
    note("it arrived", of.one.holds(3));
    d.cuMemFreeHost(pinned);
}

void with_and_without_access(const std::string &name,
                             const std::function<void(const Sides &)> &go) {
    apart(name, go);
    apart(name + " with access", [&](const Sides &of) {
        of.enable();
        go(of);
    });
}

} // namespace

SECTION("copies") {
    for (const std::string kind : kinds) {
        with_and_without_access(kind, [&](const Sides &of) { ask_kind(kind, copies_between, of); });
    }
    with_and_without_access("the host", copy_to_host);
}

} // namespace record::QUESTIONS::two_devices
