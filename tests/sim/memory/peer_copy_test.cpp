// Synchronous copies between contexts: ordered after earlier work of the current, source and
// destination context, and before later work.
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

constexpr std::size_t size = 64 * KiB;

// A context with memory and a non-blocking stream.
struct PeerContext : Unique {
    explicit PeerContext(int ordinal)
        : on(ordinal), device(ordinal), memory(allocate(size)), stream(make_stream(non_blocking)) {}
    ~PeerContext() {
        make_current();
        ok(driver().cuCtxSynchronize());
        ok(driver().cuMemFree(memory));
        ok(driver().cuStreamDestroy(stream));
    }

    void make_current() const { ok(driver().cuCtxSetCurrent(on.context)); }
    void set(int value) const {
        ok(driver().cuMemsetD8Async(memory, static_cast<unsigned char>(value), size, stream));
    }
    // The contents when `reader` gets there, a stream of any context.
    Bytes read_in(CUstream reader) const {
        void *pinned = allocate_pinned(size, CU_MEMHOSTALLOC_PORTABLE);
        auto *bytes = static_cast<unsigned char *>(pinned);
        std::memset(bytes, 0, size);
        ok(driver().cuMemcpyDtoHAsync(bytes, memory, size, reader));
        ok(driver().cuStreamSynchronize(reader));
        const Bytes read(bytes, bytes + size);
        release(pinned);
        return read;
    }

    const OnDevice on;
    const int device;
    const CUdeviceptr memory;
    const CUstream stream;
};

using Copy = bool(const PeerContext &to, const PeerContext &from);

bool copy_row(const PeerContext &to, const PeerContext &from) {
    return driver().cuMemcpyPeer(to.memory, to.on.context, from.memory, from.on.context, size) ==
           CUDA_SUCCESS;
}

bool copy_row_by_runtime(const PeerContext &to, const PeerContext &from) {
    return runtime().cudaMemcpyPeer(as_host(to.memory), to.device, as_host(from.memory),
                                    from.device, size) == cudaSuccess;
}

bool copy_block(const PeerContext &to, const PeerContext &from) {
    CUDA_MEMCPY3D_PEER copy{};
    copy.dstMemoryType = copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = to.memory;
    copy.dstContext = to.on.context;
    copy.srcDevice = from.memory;
    copy.srcContext = from.on.context;
    copy.dstPitch = copy.srcPitch = copy.WidthInBytes = 256;
    copy.Height = size / 256;
    copy.Depth = 1;
    return driver().cuMemcpy3DPeer(&copy) == CUDA_SUCCESS;
}

bool copy_block_by_runtime(const PeerContext &to, const PeerContext &from) {
    const cudaMemcpy3DPeerParms copy{.srcPtr = {as_host(from.memory), 256, 256, size / 256},
                                     .srcDevice = from.device,
                                     .dstPtr = {as_host(to.memory), 256, 256, size / 256},
                                     .dstDevice = to.device,
                                     .extent = {256, size / 256, 1}};
    return runtime().cudaMemcpy3DPeer(&copy) == cudaSuccess;
}

std::vector<std::string> modes() {
    auto modes = all_modes();
    for (int seed = 5; seed < 21; ++seed) {
        modes.push_back("mode=adversarial;seed=" + std::to_string(seed));
    }
    return modes;
}

} // namespace

TEST_CASE("a synchronous peer copy is ordered with the work of both contexts and the current one") {
    Copy *const copy =
        GENERATE(as<Copy *>(), copy_row, copy_block, copy_row_by_runtime, copy_block_by_runtime);
    const bool up = GENERATE(true, false);
    const std::string mode = GENERATE_COPY(from_range(modes()));
    {
        start("devices=3;stall=0;" + mode);
        const PeerContext zero(0), one(1), third(2);
        const PeerContext &from = up ? zero : one, &to = up ? one : zero;
        for (const PeerContext *caller : {&from, &to, &third}) {
            from.set(7);
            to.set(1);
            caller->make_current();
            CHECK(copy(to, from));
            from.set(9); // must not run before the copy has read
            CHECK(to.read_in(to.stream) == Bytes(size, 7));
        }
    }
    // The current context is ordered as well.
    start("devices=3;stall=0;" + mode);
    const PeerContext from(up ? 0 : 1), to(up ? 1 : 0), caller(2); // current
    auto *word = static_cast<unsigned char *>(allocate_pinned(1, CU_MEMHOSTALLOC_PORTABLE));
    *word = 0;
    const auto set = [](void *at) { *static_cast<unsigned char *>(at) = 1; };
    require_ok(driver().cuLaunchHostFunc(caller.stream, set, word));
    from.set(7);
    CHECK(copy(to, from));
    CHECK(to.read_in(caller.stream) == Bytes(size, 7)); // after the copy
    ok(driver().cuMemcpyHtoDAsync(to.memory, word, 1, to.stream));
    CHECK(to.read_in(to.stream)[0] == 1); // ran before the copy
    release(word);
}
