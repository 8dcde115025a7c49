// The contexts, memory and processes that the questions about two devices use.
#include "two_devices.hpp"
#include "../trace.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

namespace record::QUESTIONS::two_devices {

namespace {

// What each question of a process begins with.
std::string title;

bool make(Side &side, CUdevice device) {
    side.device = device;
    return d.cuDevicePrimaryCtxRetain(&side.context, device) == CUDA_SUCCESS &&
           d.cuCtxSetCurrent(side.context) == CUDA_SUCCESS &&
           d.cuStreamCreate(&side.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
           d.cuEventCreate(&side.event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
           d.cuMemAlloc(&side.memory, Side::size) == CUDA_SUCCESS;
}

} // namespace

void ask(const char *question, CUresult status) {
    record::ask((title + question).c_str(), status);
}

void ask(const char *question, cudaError_t status) {
    ask(question, static_cast<CUresult>(status));
}

void note(const char *what, long long value) {
    record::note((title + what).c_str(), value);
}

void Side::enter() const {
    d.cuCtxSetCurrent(context);
}

void Side::fill(unsigned char value) const {
    CUcontext before = nullptr;
    d.cuCtxGetCurrent(&before);
    enter();
    d.cuMemsetD8(memory, value, size);
    d.cuCtxSynchronize();
    d.cuCtxSetCurrent(before);
}

bool Side::holds(unsigned char value) const {
    CUcontext before = nullptr;
    d.cuCtxGetCurrent(&before);
    enter();
    std::vector<unsigned char> first(16);
    const CUresult status = d.cuMemcpyDtoH(first.data(), memory, first.size());
    d.cuCtxSetCurrent(before);
    return status == CUDA_SUCCESS &&
           std::all_of(first.begin(), first.end(), [&](unsigned char b) { return b == value; });
}

void Sides::synchronize() const {
    CUcontext before = nullptr;
    d.cuCtxGetCurrent(&before);
    for (const Side *side : {&zero, &one}) {
        side->enter();
        d.cuCtxSynchronize();
    }
    d.cuCtxSetCurrent(before);
}

void Sides::enable() const {
    one.enter();
    ask("cuCtxEnablePeerAccess of 0", d.cuCtxEnablePeerAccess(zero.context, 0));
    zero.enter();
    ask("cuCtxEnablePeerAccess of 1", d.cuCtxEnablePeerAccess(one.context, 0));
}

void Sides::disable() const {
    one.enter();
    ask("cuCtxDisablePeerAccess of 0", d.cuCtxDisablePeerAccess(zero.context));
    zero.enter();
    ask("cuCtxDisablePeerAccess of 1", d.cuCtxDisablePeerAccess(one.context));
}

bool begin(Sides &sides) {
    int count = 0;
    if (d.cuInit(0) != CUDA_SUCCESS || d.cuDeviceGetCount(&count) != CUDA_SUCCESS || count < 2) {
        record::note((title + "two devices").c_str(), "not asked here");
        return false;
    }
    const bool made = make(sides.one, 1) && make(sides.zero, 0);
    note("contexts and memory", made);
    return made;
}

void apart(const std::string &name, void (*body)(const Sides &)) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30); // its parent's does not count for it
        title = name + ": ";
        Sides sides;
        if (begin(sides)) {
            body(sides);
        }
        trace::print(); // its calls are unknown to the parent
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    record::note((name + ": the process's end").c_str(), status);
}

} // namespace record::QUESTIONS::two_devices
