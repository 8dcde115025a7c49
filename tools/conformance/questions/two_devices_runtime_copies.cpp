// The runtime's copies between two devices, where either is chosen, with and without access.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

constexpr std::size_t length = 512;

void *at(const Side &side) {
    return reinterpret_cast<void *>(side.memory);
}

cudaMemcpy3DPeerParms block_of_peers(const Side &to, const Side &from) {
    cudaMemcpy3DPeerParms block{};
    block.srcDevice = from.device;
    block.dstDevice = to.device;
    block.srcPtr = {at(from), 64, 64, 8};
    block.dstPtr = {at(to), 64, 64, 8};
    block.extent = {64, 8, 1};
    return block;
}

using Copy = cudaError_t (*)(const Side &to, const Side &from, cudaStream_t stream);

constexpr struct {
    const char *name;
    bool in_stream;
    Copy go;
} copies_between[] = {
    {"cudaMemcpyPeer", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         return r.cudaMemcpyPeer(at(to), to.device, at(from), from.device, length);
     }},
    {"cudaMemcpyPeer of swapped devices", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         return r.cudaMemcpyPeer(at(to), from.device, at(from), to.device, length);
     }},
    {"cudaMemcpy3DPeer", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         const auto block = block_of_peers(to, from);
         return r.cudaMemcpy3DPeer(&block);
     }},
    {"cudaMemcpy device to device", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         return r.cudaMemcpy(at(to), at(from), length, cudaMemcpyDeviceToDevice);
     }},
    {"cudaMemcpy2D", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         return r.cudaMemcpy2D(at(to), 64, at(from), 64, 64, 8, cudaMemcpyDefault);
     }},
    {"cudaMemcpyPeerAsync", true,
     [](const Side &to, const Side &from, cudaStream_t s) {
         return r.cudaMemcpyPeerAsync(at(to), to.device, at(from), from.device, length, s);
     }},
    {"cudaMemcpy3DPeerAsync", true,
     [](const Side &to, const Side &from, cudaStream_t s) {
         const auto block = block_of_peers(to, from);
         return r.cudaMemcpy3DPeerAsync(&block, s);
     }},
    {"cudaMemcpyAsync", true,
     [](const Side &to, const Side &from, cudaStream_t s) {
         return r.cudaMemcpyAsync(at(to), at(from), length, cudaMemcpyDefault, s);
     }},
    {"cudaMemcpy2DAsync", true,
     [](const Side &to, const Side &from, cudaStream_t s) {
         return r.cudaMemcpy2DAsync(at(to), 64, at(from), 64, 64, 8, cudaMemcpyDefault, s);
     }},
};

void copy_everywhere(const std::string &chosen, const Sides &of) {
    for (const bool up : {true, false}) {
        const Side &from = up ? of.zero : of.one, &to = up ? of.one : of.zero;
        const std::string way = up ? " from 0 to 1" : " from 1 to 0";
        const auto copy = [&](const std::string &question, Copy go, cudaStream_t stream) {
            from.fill(5);
            to.fill(1);
            ask(question.c_str(), go(to, from, stream));
            of.synchronize();
            note(question.c_str(), to.holds(5) ? 1 : 0);
        };
        for (const auto &each : copies_between) {
            const std::string question = each.name + way;
            if (!each.in_stream) {
                copy(question + chosen, each.go, nullptr);
                continue;
            }
            copy(question + ", null stream" + chosen, each.go, nullptr);
            copy(question + ", stream of 0" + chosen, each.go, of.zero.stream);
            copy(question + ", stream of 1" + chosen, each.go, of.one.stream);
        }
    }
}

} // namespace

void runtime_copies() {
    Sides of;
    if (!begin(of)) {
        return;
    }
    r.cudaSetDevice(0);
    copy_everywhere("", of);
    r.cudaSetDevice(1);
    copy_everywhere(", 1 chosen", of);
    ask("cudaDeviceEnablePeerAccess(0)", r.cudaDeviceEnablePeerAccess(0, 0));
    r.cudaSetDevice(0);
    ask("cudaDeviceEnablePeerAccess(1)", r.cudaDeviceEnablePeerAccess(1, 0));
    copy_everywhere(", with access", of);
    ask("cudaGetLastError", r.cudaGetLastError());
}

} // namespace record::QUESTIONS::two_devices
