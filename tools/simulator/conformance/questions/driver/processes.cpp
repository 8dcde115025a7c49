// Questions for two processes: IPC memory and events, pools and physical memory by descriptor.
#include "../../record.hpp"
#include "../other_process.hpp"

#include <cstdlib>
#include <string>

namespace record::QUESTIONS {

namespace {

struct Handles {
    CUipcMemHandle memory;
    CUipcEventHandle event;
};

void ask_at_exit(const std::string &when) {
    CUcontext current = nullptr;
    CUdeviceptr p = 0;
    int count = 0;
    const auto ask_then = [&](const char *what, CUresult status) { ask(when + what, status); };
    ask_then("cuDriverGetVersion", d.cuDriverGetVersion(&count));
    ask_then("cuInit", d.cuInit(0));
    ask_then("cuDeviceGetCount", d.cuDeviceGetCount(&count));
    ask_then("cuCtxGetCurrent", d.cuCtxGetCurrent(&current));
    ask_then("cuCtxSynchronize", d.cuCtxSynchronize());
    ask_then("cuMemAlloc", d.cuMemAlloc(&p, 16));
    ask_then("cuMemFree(0)", d.cuMemFree(0));
}

// Loaded from the driver directly: the table replaces a missing name.
using Text = CUresult (*)(CUresult, const char **);
Text name_of = nullptr, words_of = nullptr;

Text text_function(const char *name) {
    void *found = nullptr;
    d.cuGetProcAddress_v1(name, &found, 11030, 0);
    return reinterpret_cast<Text>(found);
}

void ask_names_at_exit(const std::string &when) {
    const char *name = nullptr, *words = nullptr;
    if (name_of != nullptr && words_of != nullptr) {
        ask(when + "cuGetErrorName(4)", name_of(CUDA_ERROR_DEINITIALIZED, &name));
        note(when + "a name", name != nullptr);
        ask(when + "cuGetErrorString(4)", words_of(CUDA_ERROR_DEINITIALIZED, &words));
        note(when + "words", words != nullptr);
    }
}

} // namespace

// Handlers run last-in first-out, and the driver registered its own in cuInit.
SECTION("at_exit") {
    std::atexit([] { ask_at_exit("behind the driver's handler: "); });
    if (start()) {
        std::atexit([] { ask_at_exit("before the driver's handler: "); });
    }
}

SECTION("names_at_exit") {
    std::atexit([] { ask_names_at_exit("behind the driver's handler: "); });
    if (start()) {
        name_of = text_function("cuGetErrorName");
        words_of = text_function("cuGetErrorString");
        std::atexit([] { ask_names_at_exit("before the driver's handler: "); });
    }
}

// The parent opens exports of the child, since only calls of this process are traced.
SECTION("ipc_processes") {
    const Other maker = fork_off([](const Other &user) {
        if (!start()) {
            return;
        }
        Handles handles{};
        CUdeviceptr p = MAKE(cuMemAlloc, 1 << 20);
        d.cuMemsetD8(p, 7, 1 << 20);
        CUevent event = MAKE(cuEventCreate, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
        d.cuEventRecord(event, nullptr);
        d.cuCtxSynchronize();
        d.cuIpcGetMemHandle(&handles.memory, p);
        d.cuIpcGetEventHandle(&handles.event, event);
        user.send(handles);
        user.receive<char>();
        unsigned char first = 0;
        ask("maker: cuMemcpyDtoH", d.cuMemcpyDtoH(&first, p, 1));
        note("maker: what the user wrote", first);
        ask("maker: cuMemFree", d.cuMemFree(p));
        ask("maker: cuEventDestroy", d.cuEventDestroy(event));
    });
    const auto handles = maker.receive<Handles>();
    if (!start()) {
        return;
    }
    CUdeviceptr p = 0, again = 0;
    CUevent event = nullptr;
    unsigned char first = 0;
    constexpr unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    ASK(cuIpcOpenMemHandle, "", &p, handles.memory, lazy);
    ASK(cuIpcOpenMemHandle, " again", &again, handles.memory, lazy);
    note("the same address", p == again);
    ASK(cuIpcCloseMemHandle, " of the second", again);
    ASK(cuMemcpyDtoH, "", &first, p, 1).note("what the maker wrote", first);
    ASK(cuMemsetD8, "", p, 9, 16);
    ASK(cuCtxSynchronize, "");
    ASK(cuMemFree, " of opened memory", p);
    ASK(cuIpcCloseMemHandle, "", p);
    ASK(cuIpcCloseMemHandle, " again", p);
    ASK(cuIpcOpenMemHandle_v1, "", &p, handles.memory, lazy);
    ASK(cuIpcCloseMemHandle, "", p);
    ASK(cuIpcOpenEventHandle, "", &event, handles.event);
    ASK(cuEventQuery, "", event);
    ASK(cuStreamWaitEvent, "", nullptr, event, 0);
    ASK(cuEventDestroy, "", event);
    maker.send('!');
    waitpid(maker.process, nullptr, 0);
}

} // namespace record::QUESTIONS
