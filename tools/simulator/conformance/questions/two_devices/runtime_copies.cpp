// Runtime copies between two devices with either one chosen, with and without access.
#include "copies_between.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

void *at(const Side &side) {
    return reinterpret_cast<void *>(side.memory);
}

cudaMemcpy3DPeerParms block_of_peers(const Side &to, const Side &from) {
    cudaMemcpy3DPeerParms block{.srcPtr = {at(from), 64, 64, 8},
                                .srcDevice = from.device,
                                .dstPtr = {at(to), 64, 64, 8},
                                .dstDevice = to.device,
                                .extent = {64, 8, 1}};
    return block;
}

constexpr const char *kinds[] = {"peers", "plain", "rows"};
constexpr CopyBetween<cudaError_t, cudaStream_t> copies_between[] = {
    {"peers", "cudaMemcpyPeer", false,
     COPY(r.cudaMemcpyPeer(at(to), to.device, at(from), from.device, length))},
    {"peers", "cudaMemcpy3DPeer", false,
     COPY(r.cudaMemcpy3DPeer(address_of(block_of_peers(to, from))))},
    {"plain", "cudaMemcpy device to device", false,
     COPY(r.cudaMemcpy(at(to), at(from), length, cudaMemcpyDeviceToDevice))},
    {"rows", "cudaMemcpy2D", false,
     COPY(r.cudaMemcpy2D(at(to), 64, at(from), 64, 64, 8, cudaMemcpyDefault))},
    {"peers", "cudaMemcpyPeerAsync", true,
     COPY(r.cudaMemcpyPeerAsync(at(to), to.device, at(from), from.device, length, stream))},
    {"peers", "cudaMemcpy3DPeerAsync", true,
     COPY(r.cudaMemcpy3DPeerAsync(address_of(block_of_peers(to, from)), stream))},
    {"plain", "cudaMemcpyAsync", true,
     COPY(r.cudaMemcpyAsync(at(to), at(from), length, cudaMemcpyDefault, stream))},
    {"rows", "cudaMemcpy2DAsync", true,
     COPY(r.cudaMemcpy2DAsync(at(to), 64, at(from), 64, 64, 8, cudaMemcpyDefault, stream))},
};

void copy_of_swapped(const Sides &of) {
    const CopyBetween<cudaError_t, cudaStream_t> swapped{
        "", "cudaMemcpyPeer", false,
        COPY(r.cudaMemcpyPeer(at(to), from.device, at(from), to.device, length))};
    r.cudaSetDevice(0);
    swapped.once(swapped.name, of, of.one, of.zero);
    ASK(cudaGetLastError, "");
}

} // namespace

SECTION("runtime copies") {
    for (const std::string kind : kinds) {
        for (const int device : {0, 1}) {
            apart(kind + ", " + std::to_string(device) + " chosen", [&](const Sides &of) {
                r.cudaSetDevice(device);
                ask_kind(kind, copies_between, of);
            });
        }
        apart(kind + " with access", [&](const Sides &of) {
            r.cudaSetDevice(1);
            ASK(cudaDeviceEnablePeerAccess, "(0)", 0, 0);
            r.cudaSetDevice(0);
            ASK(cudaDeviceEnablePeerAccess, "(1)", 1, 0);
            ask_kind(kind, copies_between, of);
        });
    }
    apart("swapped devices", copy_of_swapped);
}

} // namespace record::QUESTIONS::two_devices
