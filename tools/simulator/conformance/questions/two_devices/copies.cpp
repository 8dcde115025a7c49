// Copies between two devices in both directions, in streams of either, with and without access.
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

// Each kind has its own process: if a context fails, the other kinds still return results.
constexpr const char *kinds[] = {"peers", "plain", "blocks", "batches"};

constexpr struct {
    const char *kind;
    const char *name;
    bool in_stream; // tried in streams of both devices
    Copy go;
} copies_between[] = {
    {"peers", "cuMemcpyPeer", false,
     [](const Side &to, const Side &from, CUstream) {
         return d.cuMemcpyPeer(to.memory, to.context, from.memory, from.context, length);
     }},
    {"peers", "cuMemcpy3DPeer", false,
     [](const Side &to, const Side &from, CUstream) {
         const auto block = block_of_peers(to, from);
         return d.cuMemcpy3DPeer(&block);
     }},
    {"plain", "cuMemcpyDtoD", false,
     [](const Side &to, const Side &from, CUstream) {
         return d.cuMemcpyDtoD(to.memory, from.memory, length);
     }},
    {"plain", "cuMemcpy", false,
     [](const Side &to, const Side &from, CUstream) {
         return d.cuMemcpy(to.memory, from.memory, length);
     }},
    {"blocks", "cuMemcpy2D", false,
     [](const Side &to, const Side &from, CUstream) {
         const auto rows = rows_of(to, from);
         return d.cuMemcpy2D(&rows);
     }},
    {"blocks", "cuMemcpy3D", false,
     [](const Side &to, const Side &from, CUstream) {
         const auto block = block_of(to, from);
         return d.cuMemcpy3D(&block);
     }},
    {"peers", "cuMemcpyPeerAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         return d.cuMemcpyPeerAsync(to.memory, to.context, from.memory, from.context, length, s);
     }},
    {"peers", "cuMemcpy3DPeerAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         const auto block = block_of_peers(to, from);
         return d.cuMemcpy3DPeerAsync(&block, s);
     }},
    {"plain", "cuMemcpyDtoDAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         return d.cuMemcpyDtoDAsync(to.memory, from.memory, length, s);
     }},
    {"plain", "cuMemcpyAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         return d.cuMemcpyAsync(to.memory, from.memory, length, s);
     }},
    {"blocks", "cuMemcpy3DAsync", true,
     [](const Side &to, const Side &from, CUstream s) {
         const auto block = block_of(to, from);
         return d.cuMemcpy3DAsync(&block, s);
     }},
    {"batches", "cuMemcpyBatchAsync", true, batch},
    {"batches", "cuMemcpy3DBatchAsync", true, block_batch},
};

void copy_once(const std::string &question, const Sides &of, const Side &to, const Side &from,
               Copy go, CUstream stream) {
    from.fill(5);
    to.fill(1);
    ask(question.c_str(), go(to, from, stream));
    of.synchronize();
    note(question.c_str(), to.holds(5) ? 1 : 0);
}

void copy_all(const std::string &kind, const Sides &of) {
    for (const auto &each : copies_between) {
        if (kind != each.kind) {
            continue;
        }
        for (const bool up : {true, false}) {
            const Side &from = up ? of.zero : of.one, &to = up ? of.one : of.zero;
            const std::string question = std::string(each.name) + (up ? ", 0 to 1" : ", 1 to 0");
            if (!each.in_stream) {
                copy_once(question, of, to, from, each.go, nullptr);
                continue;
            }
            copy_once(question + ", null stream", of, to, from, each.go, nullptr);
            copy_once(question + ", stream of 0", of, to, from, each.go, of.zero.stream);
            copy_once(question + ", stream of 1", of, to, from, each.go, of.one.stream);
        }
    }
}

// Device 1's memory and host memory, while device 0's context is current.
void copy_to_host(const Sides &of) {
    unsigned char bytes[16] = "";
    void *pinned = nullptr;
    d.cuMemHostAlloc(&pinned, sizeof bytes, 0);
    of.one.fill(3);
    tell("cuMemcpyDtoH", d.cuMemcpyDtoH(bytes, of.one.memory, 16), bytes[15]);
    ask("cuMemcpyDtoHAsync, stream of 0",
        d.cuMemcpyDtoHAsync(pinned, of.one.memory, 16, of.zero.stream));
    ask("cuMemcpyDtoHAsync, stream of 1",
        d.cuMemcpyDtoHAsync(pinned, of.one.memory, 16, of.one.stream));
    of.synchronize();
    of.one.fill(1);
    ask("cuMemcpyHtoD", d.cuMemcpyHtoD(of.one.memory, bytes, 16));
    ask("cuMemcpyHtoDAsync, stream of 0",
        d.cuMemcpyHtoDAsync(of.one.memory, pinned, 16, of.zero.stream));
    ask("cuMemcpyHtoDAsync, stream of 1",
        d.cuMemcpyHtoDAsync(of.one.memory, pinned, 16, of.one.stream));
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

void copies() {
    for (const std::string kind : kinds) {
        with_and_without_access(kind, [&](const Sides &of) { copy_all(kind, of); });
    }
    with_and_without_access("the host", copy_to_host);
}

} // namespace record::QUESTIONS::two_devices
