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
    ask("cuMemcpyDtoD from it", d.cuMemcpyDtoD(side.memory, p, 16));
    ask("cuMemsetD8Async", d.cuMemsetD8Async(p, 7, 16, side.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(side.stream));
}

void memory_in_one(const Sides &of) {
    CUdeviceptr p = 0, again = 0;
    of.one.enter();
    ask("cuIpcOpenMemHandle(flags 0)", d.cuIpcOpenMemHandle(&p, handles.memory, 0));
    ask("cuIpcOpenMemHandle", d.cuIpcOpenMemHandle(&p, handles.memory, lazy));
    tell_whose(p, of);
    use_made(p, of.one);
    of.zero.enter();
    ask("cuIpcOpenMemHandle in 0's context, too",
        d.cuIpcOpenMemHandle(&again, handles.memory, lazy));
    note("the same address", p == again);
    ask("cuCtxDisablePeerAccess of 1", d.cuCtxDisablePeerAccess(of.one.context));
    of.one.enter();
    ask("cuCtxDisablePeerAccess of 0", d.cuCtxDisablePeerAccess(of.zero.context));
    of.zero.enter();
    ask("cuIpcCloseMemHandle in 0's context", d.cuIpcCloseMemHandle(p));
    of.one.enter();
    ask("cuIpcCloseMemHandle in 1's context", d.cuIpcCloseMemHandle(p));
    ask("cuIpcCloseMemHandle again", d.cuIpcCloseMemHandle(p));
}

void memory_in_zero(const Sides &of) {
    CUdeviceptr p = 0;
    ask("cuIpcOpenMemHandle", d.cuIpcOpenMemHandle(&p, handles.memory, lazy));
    tell_whose(p, of);
    ask("cuMemcpyPeer to 1", d.cuMemcpyPeer(of.one.memory, of.one.context, p, of.zero.context, 16));
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
    ask("cuIpcOpenEventHandle", d.cuIpcOpenEventHandle(&event, handles.event));
    ask("cuEventQuery", d.cuEventQuery(event));
    ask("cuEventSynchronize", d.cuEventSynchronize(event));
    ask("cuStreamWaitEvent", d.cuStreamWaitEvent(of.one.stream, event, 0));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    ask("cuEventDestroy", d.cuEventDestroy(event));
}

void event_recorded(const Sides &of) {
    CUevent event = nullptr;
    of.one.enter();
    ask("cuIpcOpenEventHandle", d.cuIpcOpenEventHandle(&event, handles.event));
    ask("cuEventRecord", d.cuEventRecord(event, of.one.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    ask("cuEventSynchronize", d.cuEventSynchronize(event));
}

// An interprocess event that this process created in device 0's context.
void own_event(const Sides &of) {
    CUevent event = nullptr;
    d.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    ask("cuEventRecord, stream of 0", d.cuEventRecord(event, of.zero.stream));
    ask("cuEventRecord, stream of 1", d.cuEventRecord(event, of.one.stream));
    ask("cuStreamWaitEvent, stream of 1", d.cuStreamWaitEvent(of.one.stream, event, 0));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
}

} // namespace

void ipc() {
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
