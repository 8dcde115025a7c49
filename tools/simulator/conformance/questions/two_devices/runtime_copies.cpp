// Runtime copies between two devices with either one chosen, with and without access.
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

// Each kind has its own process: if a context fails, the other kinds still return results.
constexpr const char *kinds[] = {"peers", "plain", "rows"};

constexpr struct {
    const char *kind;
    const char *name;
    bool in_stream; // tried in streams of both devices
    Copy go;
} copies_between[] = {
    {"peers", "cudaMemcpyPeer", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         return r.cudaMemcpyPeer(at(to), to.device, at(from), from.device, length);
     }},
    {"peers", "cudaMemcpy3DPeer", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         const auto block = block_of_peers(to, from);
         return r.cudaMemcpy3DPeer(&block);
     }},
    {"plain", "cudaMemcpy device to device", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         return r.cudaMemcpy(at(to), at(from), length, cudaMemcpyDeviceToDevice);
     }},
    {"rows", "cudaMemcpy2D", false,
     [](const Side &to, const Side &from, cudaStream_t) {
         return r.cudaMemcpy2D(at(to), 64, at(from), 64, 64, 8, cudaMemcpyDefault);
     }},
    {"peers", "cudaMemcpyPeerAsync", true,
     [](const Side &to, const Side &from, cudaStream_t s) {
         return r.cudaMemcpyPeerAsync(at(to), to.device, at(from), from.device, length, s);
     }},
    {"peers", "cudaMemcpy3DPeerAsync", true,
     [](const Side &to, const Side &from, cudaStream_t s) {
         const auto block = block_of_peers(to, from);
         return r.cudaMemcpy3DPeerAsync(&block, s);
     }},
    {"plain", "cudaMemcpyAsync", true,
     [](const Side &to, const Side &from, cudaStream_t s) {
         return r.cudaMemcpyAsync(at(to), at(from), length, cudaMemcpyDefault, s);
     }},
    {"rows", "cudaMemcpy2DAsync", true,
     [](const Side &to, const Side &from, cudaStream_t s) {
         return r.cudaMemcpy2DAsync(at(to), 64, at(from), 64, 64, 8, cudaMemcpyDefault, s);
     }},
};

void copy_once(const std::string &question, const Sides &of, const Side &to, const Side &from,
               Copy go, cudaStream_t stream) {
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

void copy_of_swapped(const Sides &of) {
    const auto swapped = [](const Side &to, const Side &from, cudaStream_t) {
        return r.cudaMemcpyPeer(at(to), from.device, at(from), to.device, length);
    };
    r.cudaSetDevice(0);
    copy_once("cudaMemcpyPeer", of, of.one, of.zero, swapped, nullptr);
    ask("cudaGetLastError", r.cudaGetLastError());
}

} // namespace

void runtime_copies() {
    for (const std::string kind : kinds) {
        for (const int device : {0, 1}) {
            apart(kind + ", " + std::to_string(device) + " chosen", [&](const Sides &of) {
                r.cudaSetDevice(device);
                copy_all(kind, of);
            });
        }
        apart(kind + " with access", [&](const Sides &of) {
            r.cudaSetDevice(1);
            ask("cudaDeviceEnablePeerAccess(0)", r.cudaDeviceEnablePeerAccess(0, 0));
            r.cudaSetDevice(0);
            ask("cudaDeviceEnablePeerAccess(1)", r.cudaDeviceEnablePeerAccess(1, 0));
            copy_all(kind, of);
        });
    }
    apart("swapped devices", copy_of_swapped);
}

} // namespace record::QUESTIONS::two_devices
