// Waits and records of an interprocess event by streams and graph nodes, in the context that
// created or opened it and in another context of the same device. Some calls crash the process, so
// each question has its own process.
#include "../../record.hpp"
#include "../other_process.hpp"

#include <csignal>
#include <string>

namespace record::QUESTIONS {

namespace {

enum class Origin { plain, made, exported, opened };
// The current context: the event's own, another one, or another one during launches only.
enum class Place { same, other, launched_in_other };

// The prefix of each question of a process.
std::string title;

void ask_here(const char *what, CUresult status) {
    ask(title + ": " + what, status);
}

CUevent event_of(Origin origin, const CUipcEventHandle &theirs) {
    CUevent event = nullptr;
    if (origin == Origin::opened) {
        ask_here("cuIpcOpenEventHandle", d.cuIpcOpenEventHandle(&event, theirs));
        return event;
    }
    CUipcEventHandle handle{};
    const unsigned int shared =
        origin == Origin::plain ? 0 : static_cast<unsigned int>(CU_EVENT_INTERPROCESS);
    d.cuEventCreate(&event, shared | CU_EVENT_DISABLE_TIMING);
    d.cuEventRecord(event, nullptr);
    if (origin == Origin::exported) {
        d.cuIpcGetEventHandle(&handle, event);
    }
    return event;
}

void wait(CUevent event, CUstream stream) {
    ask_here("cuStreamWaitEvent", d.cuStreamWaitEvent(stream, event, 0));
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(stream));
}

void record_it(CUevent event, CUstream stream) {
    ask_here("cuEventRecord", d.cuEventRecord(event, stream));
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(stream));
}

void wait_in_context(CUevent event, CUstream stream) {
    CUcontext context = MAKE(cuCtxGetCurrent);
    ask_here("cuCtxWaitEvent", d.cuCtxWaitEvent(context, event));
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(stream));
}

void launch(CUgraph graph, CUstream stream) {
    CUgraphExec exec = nullptr;
    ask_here("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask_here("cuGraphLaunch", d.cuGraphLaunch(exec, stream));
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(stream));
    ask_here("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

void wait_node(CUevent event, CUstream stream) {
    CUgraphNode node = nullptr;
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ask_here("cuGraphAddEventWaitNode", d.cuGraphAddEventWaitNode(&node, graph, nullptr, 0, event));
    launch(graph, stream);
}

void record_node(CUevent event, CUstream stream) {
    CUgraphNode node = nullptr;
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ask_here("cuGraphAddEventRecordNode",
             d.cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event));
    launch(graph, stream);
}

// The node's previous event is in the current context.
void set_node(CUevent event, CUstream stream) {
    CUevent before = MAKE(cuEventCreate, CU_EVENT_DISABLE_TIMING);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    CUgraphNode node = MAKE(cuGraphAddEventWaitNode, graph, nullptr, 0, before);
    CUgraphExec exec = MAKE(cuGraphInstantiateWithFlags, graph, 0);
    ask_here("cuGraphExecEventWaitNodeSetEvent",
             d.cuGraphExecEventWaitNodeSetEvent(exec, node, event));
    ask_here("cuGraphLaunch", d.cuGraphLaunch(exec, stream));
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(stream));
    ask_here("cuGraphEventWaitNodeSetEvent", d.cuGraphEventWaitNodeSetEvent(node, event));
    launch(graph, stream);
}

void captured_wait(CUevent event, CUstream stream) {
    CUgraph graph = nullptr;
    ask_here("cuStreamBeginCapture",
             d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ask_here("cuStreamWaitEvent, external",
             d.cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    ask_here("cuStreamEndCapture", d.cuStreamEndCapture(stream, &graph));
    launch(graph, stream);
}

void captured_record(CUevent event, CUstream stream) {
    CUgraph graph = nullptr;
    ask_here("cuStreamBeginCapture",
             d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ask_here("cuEventRecordWithFlags, external",
             d.cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    ask_here("cuStreamEndCapture", d.cuStreamEndCapture(stream, &graph));
    launch(graph, stream);
}

struct Way {
    const char *name;
    void (*go)(CUevent, CUstream);
    bool launches;
};
constexpr Way ways[] = {
    {"waited for in a stream", wait, false},
    {"recorded", record_it, false},
    {"waited for by a context", wait_in_context, false},
    {"waited for by a node", wait_node, true},
    {"recorded by a node", record_node, true},
    {"set in a node", set_node, true},
    {"waited for by a node that was captured", captured_wait, false},
    {"recorded by a node that was captured", captured_record, false},
};

struct Where {
    const char *name;
    Place place;
};
constexpr Where places[] = {
    {"", Place::same},
    {" in another context", Place::other},
    {", launched in another context", Place::launched_in_other},
};

void use(const Way &way, Origin origin, Place place, const CUipcEventHandle &theirs) {
    if (!start()) {
        return;
    }
    const CUevent event = event_of(origin, theirs);
    CUcontext other = nullptr;
    if (place != Place::same) {
        d.cuCtxCreate_v2(&other, 0, 0);
    }
    CUstream stream = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    if (place == Place::launched_in_other) {
        d.cuCtxSetCurrent(context());
    }
    way.go(event, stream);
}

void use_apart(const Way &way, Origin origin, const Where &where, const CUipcEventHandle &theirs) {
    title = std::string(way.name) + where.name;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        use(way, origin, where.place, theirs);
        std::fflush(stdout);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    note(title + ": the process's end", status);
}

void use_everywhere(Origin origin, const CUipcEventHandle &theirs = {}) {
    for (const Way &way : ways) {
        for (const Where &where : places) {
            if (way.launches || where.place != Place::launched_in_other) {
                use_apart(way, origin, where, theirs);
            }
        }
    }
}

} // namespace

SECTION("places_of_plain_events") {
    use_everywhere(Origin::plain);
}

SECTION("places_of_made_events") {
    use_everywhere(Origin::made);
}

SECTION("places_of_exported_events") {
    use_everywhere(Origin::exported);
}

SECTION("places_of_opened_events") {
    const Other maker = fork_off([](const Other &user) {
        CUevent event = nullptr;
        CUipcEventHandle handle{};
        if (start()) {
            d.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
            d.cuEventRecord(event, nullptr);
            d.cuIpcGetEventHandle(&handle, event);
        }
        user.send(handle);
        user.receive<char>();
    });
    use_everywhere(Origin::opened, maker.receive<CUipcEventHandle>());
    maker.send('!');
    waitpid(maker.process, nullptr, 0);
}

// --- the event of a killed process

namespace {

void make_recorded(const Other &user) {
    CUevent event = nullptr;
    CUipcEventHandle handle{};
    if (start()) {
        d.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
        d.cuIpcGetEventHandle(&handle, event);
        d.cuEventRecord(event, nullptr);
        d.cuCtxSynchronize();
    }
    user.send(handle);
    user.receive<char>();
}

// Receives a second message after the creator has been killed.
void wait_for_dead(const Other &parent) {
    alarm(20);
    const auto handle = parent.receive<CUipcEventHandle>();
    CUevent event = nullptr, again = nullptr;
    if (!start()) {
        return;
    }
    ASK(cuIpcOpenEventHandle, "", &event, handle);
    ASK(cuEventQuery, "", event);
    parent.send('!');
    parent.receive<char>();
    note("the maker is gone", 1);
    ASK(cuEventQuery, "", event);
    ASK(cuStreamWaitEvent, "", nullptr, event, 0);
    ASK(cuStreamSynchronize, "", nullptr);
    ASK(cuEventSynchronize, "", event);
    ASK(cuIpcOpenEventHandle, " again", &again, handle);
    ASK(cuEventRecord, "", event, nullptr);
    ASK(cuEventSynchronize, "", event);
    ASK(cuEventDestroy, "", event);
}

} // namespace

SECTION("event_of_killed_maker") {
    const Other user = fork_off(wait_for_dead), maker = fork_off(make_recorded);
    user.send(maker.receive<CUipcEventHandle>());
    user.receive<char>();
    kill(maker.process, SIGKILL);
    waitpid(maker.process, nullptr, 0);
    user.send('!');
    int status = 0;
    waitpid(user.process, &status, 0);
    note("the process's end", status);
}

} // namespace record::QUESTIONS
