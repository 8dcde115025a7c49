// Copies between two devices, both ways round, in the streams of either, with and without access.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

constexpr std::size_t length = 512;

CUDA_MEMCPY3D_PEER block_of_peers(const Side &to, const Side &from) {
    CUDA_MEMCPY3D_PEER block{};
    block.srcMemoryType = block.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    block.srcDevice = from.memory;
    block.dstDevice = to.memory;
    block.srcContext = from.context;
    block.dstContext = to.context;
    block.srcPitch = block.dstPitch = 64;
    block.srcHeight = block.dstHeight = 4;
    block.WidthInBytes = 64;
    block.Height = 4;
    block.Depth = 2;
    return block;
}

CUDA_MEMCPY3D block_of(const Side &to, const Side &from) {
    CUDA_MEMCPY3D block{};
    block.srcMemoryType = block.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    block.srcDevice = from.memory;
    block.dstDevice = to.memory;
    block.srcPitch = block.dstPitch = 64;
    block.srcHeight = block.dstHeight = 4;
    block.WidthInBytes = 64;
    block.Height = 4;
    block.Depth = 2;
    return block;
}

CUDA_MEMCPY2D rows_of(const Side &to, const Side &from) {
    CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.srcDevice = from.memory;
    rows.dstDevice = to.memory;
    rows.srcPitch = rows.dstPitch = 64;
    rows.WidthInBytes = 64;
    rows.Height = 8;
    return rows;
}

CUresult batch(const Side &to, const Side &from, CUstream stream) {
    CUdeviceptr destination = to.memory, source = from.memory;
    std::size_t size = length, first = 0;
    CUmemcpyAttributes how{};
    how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
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

using Copy = CUresult (*)(const Side &to, const Side &from, CUstream stream);

// Those that take no stream come first, and are not asked again for each.
constexpr struct {
    const char *name;
    bool in_stream;
    Copy go;
} copies_between[] = {
    {"cuMemcpyPeer", false,
     [](const Side &to, const Side &from, CUstream) {
         return d.cuMemcpyPeer(to.memory, to.context, from.memory, from.context, length);
     }},
    {"cuMemcpy3DPeer", false,
     [](const Side &to, const Side &from, CUstream) {
         const auto block = block_of_peers(to, from);
         return d.cuMemcpy3DPeer(&block);
     }},
    {"cuMemcpyDtoD", false,
     [](const Side &to, const Side &from, CUstream) {
         return d.cuMemcpyDtoD(to.memory, from.memory, length);
     }},
    {"cuMemcpy", false,
     [](const Side &to, const Side &from, CUstream) {
         return d.cuMemcpy(to.memory, from.memory, length);
     }},
    {"cuMemcpy2D", false,
     [](const Side &to, const Side &from, CUstream) {
         const auto rows = rows_of(to, from);
         return d.cuMemcpy2D(&rows);
     }},
    {"cuMemcpy3D", false,
     [](const Side &to, const Side &from, CUstream) {
         const auto block = block_of(to, from);
         return d.cuMemcpy3D(&block);
     }},
    {"cuMemcpyPeerAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         return d.cuMemcpyPeerAsync(to.memory, to.context, from.memory, from.context, length, s);
     }},
    {"cuMemcpy3DPeerAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         const auto block = block_of_peers(to, from);
         return d.cuMemcpy3DPeerAsync(&block, s);
     }},
    {"cuMemcpyDtoDAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         return d.cuMemcpyDtoDAsync(to.memory, from.memory, length, s);
     }},
    {"cuMemcpyAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         return d.cuMemcpyAsync(to.memory, from.memory, length, s);
     }},
    {"cuMemcpy3DAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         const auto block = block_of(to, from);
         return d.cuMemcpy3DAsync(&block, s);
     }},
    {"cuMemcpyBatchAsync", true, batch},
    {"cuMemcpy3DBatchAsync", true, block_batch},
};

void copy_once(const std::string &question, const Sides &of, const Side &to, const Side &from,
               Copy go, CUstream stream) {
    from.fill(5);
    to.fill(1);
    ask(question.c_str(), go(to, from, stream));
    of.synchronize();
    note(question.c_str(), to.holds(5) ? 1 : 0);
}

void copy_everywhere(const std::string &access, const Sides &of) {
    for (const bool up : {true, false}) {
        const Side &from = up ? of.zero : of.one, &to = up ? of.one : of.zero;
        const std::string way = up ? " from 0 to 1" : " from 1 to 0";
        of.zero.enter();
        for (const auto &each : copies_between) {
            const std::string question = each.name + way;
            if (!each.in_stream) {
                copy_once(question + access, of, to, from, each.go, nullptr);
                continue;
            }
            copy_once(question + ", null stream" + access, of, to, from, each.go, nullptr);
            copy_once(question + ", stream of 0" + access, of, to, from, each.go, of.zero.stream);
            copy_once(question + ", stream of 1" + access, of, to, from, each.go, of.one.stream);
        }
    }
}

// The host's memory, and what is the other device's, with device 0's context current.
void copy_to_host(const std::string &access, const Sides &of) {
    unsigned char bytes[16] = "";
    void *pinned = nullptr;
    d.cuMemHostAlloc(&pinned, sizeof bytes, 0);
    of.one.fill(3);
    tell("cuMemcpyDtoH of 1's" + access, d.cuMemcpyDtoH(bytes, of.one.memory, 16), bytes[15]);
    ask(("cuMemcpyDtoHAsync of 1's, stream of 0" + access).c_str(),
        d.cuMemcpyDtoHAsync(pinned, of.one.memory, 16, of.zero.stream));
    ask(("cuMemcpyDtoHAsync of 1's, stream of 1" + access).c_str(),
        d.cuMemcpyDtoHAsync(pinned, of.one.memory, 16, of.one.stream));
    ask(("cuMemcpyHtoD to 1's" + access).c_str(), d.cuMemcpyHtoD(of.one.memory, bytes, 16));
    ask(("cuMemcpyHtoDAsync to 1's, stream of 0" + access).c_str(),
        d.cuMemcpyHtoDAsync(of.one.memory, pinned, 16, of.zero.stream));
    ask(("cuMemcpyHtoDAsync to 1's, stream of 1" + access).c_str(),
        d.cuMemcpyHtoDAsync(of.one.memory, pinned, 16, of.one.stream));
    of.synchronize();
    note(("1 holds it" + access).c_str(), of.one.holds(3));
    d.cuMemFreeHost(pinned);
}

} // namespace

void copies() {
    Sides of;
    if (!begin(of)) {
        return;
    }
    copy_everywhere("", of);
    copy_to_host("", of);
    of.enable();
    copy_everywhere(", with access", of);
    copy_to_host(", with access", of);
    of.disable();
}

} // namespace record::QUESTIONS::two_devices
