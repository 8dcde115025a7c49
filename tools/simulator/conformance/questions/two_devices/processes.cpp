// Objects of device 0 that one process shares and another opens while device 1's context is
// current.
#include "../other_process.hpp"
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

struct Handles {
    CUipcMemHandle memory;
    CUipcEventHandle event;
};
Handles handles; // from the exporting process

void make(const Other &user) {
    Handles made{};
    CUdeviceptr p = 0;
    CUevent event = nullptr;
    if (start()) {
        d.cuMemAlloc(&p, 1 << 20);
        d.cuMemsetD8(p, 7, 1 << 20);
        d.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
        d.cuEventRecord(event, nullptr);
        d.cuCtxSynchronize();
        d.cuIpcGetMemHandle(&made.memory, p);
        d.cuIpcGetEventHandle(&made.event, event);
    }
    user.send(made);
    user.receive<char>();
}

constexpr unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

void tell_whose(CUdeviceptr p, const Sides &of) {
    int ordinal = 77;
    CUcontext context = nullptr;
    tell("DEVICE_ORDINAL",
         d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p), ordinal);
    ask("CONTEXT", d.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    note("CONTEXT is 1's", context == of.one.context);
}

// The other process does not read the written bytes.
void use_made(CUdeviceptr p, const Side &side) {
    unsigned char first = 0;
    tell("what the maker set", d.cuMemcpyDtoH(&first, p, 1), first);
    ASK(cuMemcpyDtoD, " from it", side.memory, p, 16);
    ASK(cuMemsetD8Async, "", p, 7, 16, side.stream);
    ASK(cuStreamSynchronize, "", side.stream);
}

void memory_in_one(const Sides &of) {
    CUdeviceptr p = 0, again = 0;
    of.one.enter();
    ASK(cuIpcOpenMemHandle, "(flags 0)", &p, handles.memory, 0);
    ASK(cuIpcOpenMemHandle, "", &p, handles.memory, lazy);
    tell_whose(p, of);
    use_made(p, of.one);
    of.zero.enter();
    ASK(cuIpcOpenMemHandle, " in 0's context, too", &again, handles.memory, lazy);
    note("the same address", p == again);
    ASK(cuCtxDisablePeerAccess, " of 1", of.one.context);
    of.one.enter();
    ASK(cuCtxDisablePeerAccess, " of 0", of.zero.context);
    of.zero.enter();
    ASK(cuIpcCloseMemHandle, " in 0's context", p);
    of.one.enter();
    ASK(cuIpcCloseMemHandle, " in 1's context", p);
    ASK(cuIpcCloseMemHandle, " again", p);
}

void memory_in_zero(const Sides &of) {
    CUdeviceptr p = 0;
    ASK(cuIpcOpenMemHandle, "", &p, handles.memory, lazy);
    tell_whose(p, of);
    ASK(cuMemcpyPeer, " to 1", of.one.memory, of.one.context, p, of.zero.context, 16);
    note("it arrived", of.one.holds(7));
    of.one.enter();
    use_made(p, of.one);
}

void memory_in_zero_with_access(const Sides &of) {
    of.enable();
    memory_in_zero(of);
}

void event_waited_for(const Sides &of) {
    CUevent event = nullptr;
    of.one.enter();
    ASK(cuIpcOpenEventHandle, "", &event, handles.event);
    ASK(cuEventQuery, "", event);
    ASK(cuEventSynchronize, "", event);
    ASK(cuStreamWaitEvent, "", of.one.stream, event, 0);
    ASK(cuStreamSynchronize, "", of.one.stream);
    ASK(cuEventDestroy, "", event);
}

void event_recorded(const Sides &of) {
    CUevent event = nullptr;
    of.one.enter();
    ASK(cuIpcOpenEventHandle, "", &event, handles.event);
    ASK(cuEventRecord, "", event, of.one.stream);
    ASK(cuStreamSynchronize, "", of.one.stream);
    ASK(cuEventSynchronize, "", event);
}

// An interprocess event that this process created in device 0's context.
void own_event(const Sides &of) {
    CUevent event = MAKE(cuEventCreate, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    ASK(cuEventRecord, ", stream of 0", event, of.zero.stream);
    ASK(cuEventRecord, ", stream of 1", event, of.one.stream);
    ASK(cuStreamWaitEvent, ", stream of 1", of.one.stream, event, 0);
    ASK(cuStreamSynchronize, "", of.one.stream);
}

} // namespace

SECTION("ipc") {
    const Other maker = fork_off(make);
    handles = maker.receive<Handles>();
    apart("memory in 1's context", memory_in_one);
    apart("memory in 0's context", memory_in_zero);
    apart("memory in 0's context, with access", memory_in_zero_with_access);
    apart("an event waited for in 1's context", event_waited_for);
    apart("an event recorded in 1's context", event_recorded);
    apart("an own event", own_event);
    maker.send('!');
    waitpid(maker.process, nullptr, 0);
}

} // namespace record::QUESTIONS::two_devices
