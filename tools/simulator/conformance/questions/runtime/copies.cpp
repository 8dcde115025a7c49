// Runtime copies and memsets of memory by kind, single and batched.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {
namespace {

constexpr auto unknown_kind = static_cast<cudaMemcpyKind>(99);

// Two device buffers of 256 bytes, pageable and pinned memory of the same size, and a stream.
struct Memory {
    void *p = nullptr, *p2 = nullptr, *pinned = nullptr;
    char h[256] = "", h2[256] = "";
    cudaStream_t s = nullptr;

    Memory() {
        r.cudaMalloc(&p, 256);
        r.cudaMalloc(&p2, 256);
        r.cudaMallocHost(&pinned, 256);
        r.cudaStreamCreate(&s);
    }
    ~Memory() {
        ASK(cudaStreamSynchronize, "", s);
        r.cudaStreamDestroy(s);
        r.cudaFreeHost(pinned);
        r.cudaFree(p2);
        r.cudaFree(p);
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
};

} // namespace

SECTION("copies", begin) {
    Memory of;
    const auto copy = [&](const char *what, void *to, const void *from, std::size_t size,
                          int kind) {
        const auto as = static_cast<cudaMemcpyKind>(kind);
        const std::string question = std::string(what) + ", kind " + std::to_string(kind);
        ask("cudaMemcpy " + question, r.cudaMemcpy(to, from, size, as));
        ask("cudaMemcpyAsync " + question, r.cudaMemcpyAsync(to, from, size, as, of.s));
    };
    for (const int kind : {0, 1, 2, 3, 4, 99}) {
        copy("device to device", of.p, of.p2, 64, kind);
        copy("pinned to device", of.p, of.pinned, 64, kind);
        copy("device to pinned", of.pinned, of.p, 64, kind);
        copy("host to host", of.h, of.h2, 64, kind);
        copy("nothing", of.p, of.h, 0, kind);
    }
    copy("pageable to device", of.p, of.h, 64, 1);
    copy("device to pageable", of.h, of.p, 64, 2);
    copy("from null", of.p, nullptr, 64, 1);
    copy("past the end", of.p, of.pinned, 257, 1);
    ASK(cudaMemcpyAsync, " into the null stream", of.p, of.p2, 64, cudaMemcpyDefault, nullptr);
    ASK(cudaMemcpyPeer, "(0, 0)", of.p, 0, of.p2, 0, 64);
    ASK(cudaMemcpyPeer, "(1000, 0)", of.p, 1000, of.p2, 0, 64);
    ASK(cudaMemcpyPeerAsync, "(0, 0)", of.p, 0, of.p2, 0, 64, of.s);
    ASK(cudaMemcpyPeerAsync, "(0, -1)", of.p, 0, of.p2, -1, 64, of.s);
}

SECTION("block_copies", begin) {
    Memory of;
    const auto rows = [&](const char *what, std::size_t to_pitch, std::size_t from_pitch,
                          std::size_t width, std::size_t height, cudaMemcpyKind kind) {
        const std::string question = what;
        ask("cudaMemcpy2D " + question,
            r.cudaMemcpy2D(of.p, to_pitch, of.pinned, from_pitch, width, height, kind));
        ask("cudaMemcpy2DAsync " + question,
            r.cudaMemcpy2DAsync(of.p, to_pitch, of.pinned, from_pitch, width, height, kind, of.s));
    };
    rows("of 10 x 2", 32, 16, 10, 2, cudaMemcpyHostToDevice);
    rows("of 10 x 2, default", 32, 16, 10, 2, cudaMemcpyDefault);
    rows("of no rows", 1, 1, 10, 0, cudaMemcpyHostToDevice);
    rows("of no width", 10, 10, 0, 2, cudaMemcpyHostToDevice);
    rows("to a pitch below the width", 5, 10, 10, 2, cudaMemcpyHostToDevice);
    rows("from a pitch below the width", 10, 5, 10, 2, cudaMemcpyHostToDevice);
    rows("of kind 99", 10, 10, 10, 2, unknown_kind);
    rows("past the end", 64, 64, 64, 5, cudaMemcpyHostToDevice);

    cudaMemcpy3DParms block{.srcPtr = {of.pinned, 16, 16, 4},
                            .dstPtr = {of.p, 32, 32, 4},
                            .extent = {8, 4, 2},
                            .kind = cudaMemcpyHostToDevice};
    const auto blocks = [&](const char *what) {
        const std::string question = what;
        ask("cudaMemcpy3D " + question, r.cudaMemcpy3D(&block));
        ask("cudaMemcpy3DAsync " + question, r.cudaMemcpy3DAsync(&block, of.s));
    };
    blocks("of 8 x 4 x 2");
    block.extent.depth = 0;
    blocks("of no depth");
    block.extent.depth = 2;
    block.srcPtr.pitch = 4;
    blocks("from a pitch below the width");
    block.srcPtr.pitch = 16;
    block.kind = unknown_kind;
    blocks("of kind 99");

    cudaMemcpy3DPeerParms peers{
        .srcPtr = {of.p2, 16, 16, 4}, .dstPtr = {of.p, 32, 32, 4}, .extent = {8, 4, 2}};
    ASK(cudaMemcpy3DPeer, "(0, 0)", &peers);
    ASK(cudaMemcpy3DPeerAsync, "(0, 0)", &peers, of.s);
    peers.srcDevice = 1000;
    ASK(cudaMemcpy3DPeer, "(0, 1000)", &peers);
    ASK(cudaMemcpy3DPeerAsync, "(0, 1000)", &peers, of.s);
}

// Only with CUDA 13 headers, since older ones have other declarations.
SECTION("batches") {
#if CUDART_VERSION >= 13000
    if (!begin()) {
        return;
    }
    Memory of;
    void *to[2] = {of.p, of.p2};
    const void *from[2] = {of.pinned, of.p};
    std::size_t sizes[2] = {64, 32}, first[3] = {};
    cudaMemcpyAttributes attributes[3] = {}; // enough for every question
    for (auto &each : attributes) {
        each.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    }
    const auto copy = [&](const char *what, std::size_t count, std::size_t kinds, cudaStream_t s) {
        ask(std::string("cudaMemcpyBatchAsync ") + what,
            r.cudaMemcpyBatchAsync(to, from, sizes, count, attributes, first, kinds, s));
    };
    copy("of two", 2, 1, of.s);
    copy("in the null stream", 2, 1, nullptr);
    copy("of none", 0, 1, of.s);
    copy("without attributes", 2, 0, of.s);
    copy("with more attributes than copies", 2, 3, of.s);
    attributes[0].srcAccessOrder = static_cast<cudaMemcpySrcAccessOrder>(99);
    copy("in order 99", 2, 1, of.s);
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    sizes[1] = 0;
    copy("of no bytes", 2, 1, of.s);

    cudaMemcpy3DBatchOp block{};
    block.src.type = block.dst.type = cudaMemcpyOperandTypePointer;
    block.src.op.ptr.ptr = of.p;
    block.dst.op.ptr.ptr = of.p2;
    block.src.op.ptr.rowLength = block.dst.op.ptr.rowLength = 16;
    block.src.op.ptr.layerHeight = block.dst.op.ptr.layerHeight = 4;
    block.extent = {8, 4, 2};
    block.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    ASK(cudaMemcpy3DBatchAsync, "", 1, &block, 0, of.s);
    ASK(cudaMemcpy3DBatchAsync, " in the null stream", 1, &block, 0, nullptr);
    ASK(cudaMemcpy3DBatchAsync, "(flags 0x100)", 1, &block, 0x100, of.s);
    block.extent.width = 0;
    ASK(cudaMemcpy3DBatchAsync, " of no width", 1, &block, 0, of.s);
    block.extent.width = 17;
    ASK(cudaMemcpy3DBatchAsync, ", rows too short", 1, &block, 0, of.s);
#endif
}

SECTION("memsets", begin) {
    Memory of;
    const auto bytes = [&](const char *what, void *p, std::size_t count) {
        const std::string question = what;
        ask("cudaMemset " + question, r.cudaMemset(p, 1, count));
        ask("cudaMemsetAsync " + question, r.cudaMemsetAsync(p, 1, count, of.s));
    };
    bytes("of device memory", of.p, 256);
    bytes("of nothing", of.p, 0);
    bytes("of nothing, null", nullptr, 0);
    bytes("of null", nullptr, 1);
    bytes("past the end", of.p, 257);
    bytes("of pinned memory", of.pinned, 64);
    bytes("of pageable memory", of.h, 64);
    const auto rows = [&](const char *what, std::size_t pitch, std::size_t width,
                          std::size_t height) {
        const std::string question = what;
        ask("cudaMemset2D " + question, r.cudaMemset2D(of.p, pitch, 1, width, height));
        ask("cudaMemset2DAsync " + question,
            r.cudaMemset2DAsync(of.p, pitch, 1, width, height, of.s));
    };
    rows("of 10 x 2", 32, 10, 2);
    rows("of no rows", 32, 10, 0);
    rows("of a pitch below the width", 5, 10, 2);
    rows("past the end", 64, 64, 5);
    const auto block = [&](const char *what, cudaPitchedPtr to, cudaExtent extent) {
        const std::string question = what;
        ask("cudaMemset3D " + question, r.cudaMemset3D(to, 1, extent));
        ask("cudaMemset3DAsync " + question, r.cudaMemset3DAsync(to, 1, extent, of.s));
    };
    block("of 8 x 4 x 2", {of.p, 16, 16, 4}, {8, 4, 2});
    block("of no width", {of.p, 16, 16, 4}, {0, 4, 2});
    block("of fewer rows than its height", {of.p, 4, 4, 2}, {4, 4, 2});
    block("past the end", {of.p, 64, 64, 4}, {64, 4, 2});
}

// Symbols are host addresses that nvcc's code registers; this program has none.
SECTION("symbols", begin) {
    int no_symbol = 0, value = 0;
    void *address = nullptr;
    std::size_t size = 0;
    ASK(cudaGetSymbolAddress, " of none", &address, &no_symbol);
    ASK(cudaGetSymbolSize, " of none", &size, &no_symbol);
    ASK(cudaGetSymbolAddress, "(null)", &address, nullptr);
    ASK(cudaMemcpyToSymbol, " of none", &no_symbol, &value, 4, 0, cudaMemcpyHostToDevice);
    ASK(cudaMemcpyFromSymbol, " of none", &value, &no_symbol, 4, 0, cudaMemcpyDeviceToHost);
    ASK(cudaMemcpyToSymbolAsync, " of none", &no_symbol, &value, 4, 0, cudaMemcpyHostToDevice,
        nullptr);
    ASK(cudaMemcpyFromSymbolAsync, " of none", &value, &no_symbol, 4, 0, cudaMemcpyDeviceToHost,
        nullptr);
}

} // namespace record::QUESTIONS::runtime
