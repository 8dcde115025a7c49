// Contexts, memory and processes for questions about two devices.
#include "two_devices.hpp"
#include "../other_process.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

bool make(Side &side, CUdevice device) {
    side.device = device;
    return d.cuDevicePrimaryCtxRetain(&side.context, device) == CUDA_SUCCESS &&
           d.cuCtxSetCurrent(side.context) == CUDA_SUCCESS &&
           d.cuStreamCreate(&side.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
           d.cuEventCreate(&side.event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
           d.cuMemAlloc(&side.memory, Side::size) == CUDA_SUCCESS;
}

} // namespace

void Side::enter() const {
    d.cuCtxSetCurrent(context);
}

void Side::fill(unsigned char value) const {
    CUcontext before = MAKE(cuCtxGetCurrent);
    enter();
    d.cuMemsetD8(memory, value, size);
    d.cuCtxSynchronize();
    d.cuCtxSetCurrent(before);
}

bool Side::holds(unsigned char value) const {
    unsigned char first[4] = "";
    CUcontext before = MAKE(cuCtxGetCurrent);
    enter();
    const CUresult status = d.cuMemcpyDtoH(first, memory, sizeof first);
    d.cuCtxSetCurrent(before);
    return status == CUDA_SUCCESS && first[0] == value && first[3] == value;
}

void Sides::synchronize() const {
    CUcontext before = MAKE(cuCtxGetCurrent);
    for (const Side *side : {&zero, &one}) {
        side->enter();
        d.cuCtxSynchronize();
    }
    d.cuCtxSetCurrent(before);
}

void Sides::enable() const {
    one.enter();
    ASK(cuCtxEnablePeerAccess, " of 0", zero.context, 0);
    zero.enter();
    ASK(cuCtxEnablePeerAccess, " of 1", one.context, 0);
}

void Sides::disable() const {
    one.enter();
    ASK(cuCtxDisablePeerAccess, " of 0", zero.context);
    zero.enter();
    ASK(cuCtxDisablePeerAccess, " of 1", one.context);
}

bool begin(Sides &sides) {
    int count = 0;
    if (d.cuInit(0) != CUDA_SUCCESS || d.cuDeviceGetCount(&count) != CUDA_SUCCESS || count < 2) {
        note("two devices", "not asked here");
        return false;
    }
    const bool made = make(sides.one, 1) && make(sides.zero, 0);
    note("contexts and memory", made);
    if (made) {
        sides.one.fill(1);
        sides.zero.fill(1);
    }
    return made;
}

void apart(const std::string &name, const std::function<void(const Sides &)> &body) {
    ask_apart(name, [&] {
        Sides sides;
        if (begin(sides)) {
            body(sides);
        }
    });
}

namespace {

void read_bytes(CUdeviceptr p, const Side &) {
    unsigned char first = 0;
    ASK(cuMemcpyDtoH, "", &first, p, 1);
}

void write_bytes(CUdeviceptr p, const Side &) {
    const unsigned char first = 3;
    ASK(cuMemcpyHtoD, "", p, &first, 1);
}

void copy_from(CUdeviceptr p, const Side &side) {
    ASK(cuMemcpyDtoD, " from it", side.memory, p, 16);
    ask("synchronized", d.cuCtxSynchronize());
}

void copy_to(CUdeviceptr p, const Side &side) {
    ASK(cuMemcpyDtoD, " to it", p, side.memory, 16);
    ask("synchronized", d.cuCtxSynchronize());
}

void set_bytes(CUdeviceptr p, const Side &side) {
    ASK(cuMemsetD8Async, "", p, 7, 16, side.stream);
    ASK(cuStreamSynchronize, "", side.stream);
}

constexpr struct {
    const char *name;
    void (*go)(CUdeviceptr, const Side &);
} uses[] = {
    {"read", read_bytes},   {"written", write_bytes}, {"copied", copy_from},
    {"copied to", copy_to}, {"set", set_bytes},
};

} // namespace

void use(CUdeviceptr p, const Side &side) {
    side.enter();
    note("used by", side.device);
    for (const auto &each : uses) {
        each.go(p, side);
    }
}

void use_apart(const std::string &name, Side Sides::*side,
               const std::function<CUdeviceptr(const Sides &)> &prepare) {
    for (const auto &each : uses) {
        apart(name + ", " + each.name, [&](const Sides &of) {
            const CUdeviceptr p = prepare(of);
            (of.*side).enter();
            each.go(p, of.*side);
        });
    }
}

} // namespace record::QUESTIONS::two_devices
