// Runtime streams, events, capture, and driver functions by name.
#include "../../runtime_questions.hpp"

#include <thread>

namespace record::QUESTIONS::runtime {
namespace {

void CUDART_CB host_function(void *) {}

void CUDART_CB asking_host_function(void *user) {
    void *p = nullptr;
    int count = 0;
    auto *answers = static_cast<cudaError_t *>(user);
    answers[0] = r.cudaMalloc(&p, 16);
    answers[1] = r.cudaGetDeviceCount(&count);
    answers[2] = r.cudaGetLastError();
}

void CUDART_CB callback(cudaStream_t, cudaError_t, void *) {}

void attributes_of(cudaStream_t s, cudaStream_t other) {
    cudaStreamAttrValue value{};
    const auto policy = cudaStreamAttributeSynchronizationPolicy;
    const auto unknown = static_cast<cudaStreamAttrID>(77);
    ask("cudaStreamGetAttribute(synchronization policy)",
        r.cudaStreamGetAttribute(s, policy, &value));
    ask("cudaStreamGetAttribute(77)", r.cudaStreamGetAttribute(s, unknown, &value));
    value = {};
    value.syncPolicy = cudaSyncPolicyYield;
    ask("cudaStreamSetAttribute(synchronization policy)",
        r.cudaStreamSetAttribute(s, policy, &value));
    ask("cudaStreamSetAttribute(77)", r.cudaStreamSetAttribute(s, unknown, &value));
    ask("cudaStreamCopyAttributes", r.cudaStreamCopyAttributes(other, s));
    value = {};
    r.cudaStreamGetAttribute(other, policy, &value);
    note("the policy was copied", value.syncPolicy == cudaSyncPolicyYield);
}

void host_functions(cudaStream_t s) {
    cudaError_t answers[3] = {};
    ask("cudaLaunchHostFunc(null)", r.cudaLaunchHostFunc(s, nullptr, nullptr));
    ask("cudaLaunchHostFunc", r.cudaLaunchHostFunc(s, asking_host_function, answers));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
    ask("inside: cudaMalloc", answers[0]);
    ask("inside: cudaGetDeviceCount", answers[1]);
    ask("inside: cudaGetLastError", answers[2]);
    ask("cudaStreamAddCallback(null)", r.cudaStreamAddCallback(s, nullptr, nullptr, 0));
    ask("cudaStreamAddCallback(flags 1)", r.cudaStreamAddCallback(s, callback, nullptr, 1));
    ask("cudaStreamAddCallback", r.cudaStreamAddCallback(s, callback, nullptr, 0));
}

} // namespace

void streams() {
    if (!begin()) {
        return;
    }
    cudaStream_t s = nullptr, other = nullptr, high = nullptr;
    unsigned int flags = 77;
    int priority = 77;
    ask("cudaStreamCreate(null)", r.cudaStreamCreate(nullptr));
    ask("cudaStreamCreate", r.cudaStreamCreate(&s));
    ask("cudaStreamCreateWithFlags(0x10)", r.cudaStreamCreateWithFlags(&other, 0x10));
    ask("cudaStreamCreateWithFlags(non-blocking)",
        r.cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    ask("cudaStreamCreateWithPriority(flags 0x10)", r.cudaStreamCreateWithPriority(&high, 0x10, 0));
    ask("cudaStreamCreateWithPriority(-100)", r.cudaStreamCreateWithPriority(&high, 0, -100));
    ask("cudaStreamGetPriority", r.cudaStreamGetPriority(high, &priority));
    note("priority", priority);
    ask("cudaStreamGetPriority of the null stream", r.cudaStreamGetPriority(nullptr, &priority));
    note("priority", priority);
    ask("cudaStreamGetFlags", r.cudaStreamGetFlags(other, &flags));
    note("flags", flags);
    ask("cudaStreamGetFlags of the null stream", r.cudaStreamGetFlags(nullptr, &flags));
    note("flags", flags);
#if CUDART_VERSION >= 12000
    unsigned long long id = 0, another = 0;
    ask("cudaStreamGetId", r.cudaStreamGetId(s, &id));
    ask("cudaStreamGetId of the null stream", r.cudaStreamGetId(nullptr, &another));
    note("it is another one", id != another);
#endif
#if CUDART_VERSION >= 12080
    int device = 77;
    ask("cudaStreamGetDevice", r.cudaStreamGetDevice(s, &device));
    note("device", device);
#endif
    attributes_of(s, other);
    host_functions(s);
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
    ask("cudaStreamQuery", r.cudaStreamQuery(s));
    ask("cudaStreamQuery of the null stream", r.cudaStreamQuery(nullptr));
    ask("cudaStreamDestroy(null)", r.cudaStreamDestroy(nullptr));
    ask("cudaStreamDestroy of the legacy stream", r.cudaStreamDestroy(cudaStreamLegacy));
    ask("cudaStreamDestroy", r.cudaStreamDestroy(s));
    ask("cudaStreamDestroy", r.cudaStreamDestroy(other));
    ask("cudaStreamDestroy", r.cudaStreamDestroy(high));
}

void events() {
    if (!begin()) {
        return;
    }
    cudaEvent_t e = nullptr, f = nullptr, untimed = nullptr;
    cudaStream_t s = nullptr;
    float milliseconds = -1;
    r.cudaStreamCreate(&s);
    ask("cudaEventCreate(null)", r.cudaEventCreate(nullptr));
    ask("cudaEventCreate", r.cudaEventCreate(&e));
    ask("cudaEventCreateWithFlags(0x100)", r.cudaEventCreateWithFlags(&f, 0x100));
    ask("cudaEventCreateWithFlags(interprocess)",
        r.cudaEventCreateWithFlags(&f, cudaEventInterprocess));
    ask("cudaEventCreateWithFlags", r.cudaEventCreateWithFlags(&f, cudaEventBlockingSync));
    r.cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
    ask("cudaEventQuery, never recorded", r.cudaEventQuery(e));
    ask("cudaEventSynchronize, never recorded", r.cudaEventSynchronize(e));
    ask("cudaEventElapsedTime, never recorded", r.cudaEventElapsedTime(&milliseconds, e, f));
    ask("cudaEventRecord", r.cudaEventRecord(e, s));
    ask("cudaEventRecord into the null stream", r.cudaEventRecord(f, nullptr));
    ask("cudaEventRecordWithFlags", r.cudaEventRecordWithFlags(f, s, cudaEventRecordDefault));
    ask("cudaEventRecordWithFlags(external)",
        r.cudaEventRecordWithFlags(f, s, cudaEventRecordExternal));
    ask("cudaEventRecordWithFlags(0x10)", r.cudaEventRecordWithFlags(f, s, 0x10));
    ask("cudaEventRecord(null)", r.cudaEventRecord(nullptr, s));
    r.cudaEventRecord(untimed, s);
    ask("cudaStreamWaitEvent", r.cudaStreamWaitEvent(s, f, 0));
    ask("cudaStreamWaitEvent(null)", r.cudaStreamWaitEvent(s, nullptr, 0));
    ask("cudaStreamWaitEvent(flags 2)", r.cudaStreamWaitEvent(s, f, 2));
    ask("cudaEventSynchronize", r.cudaEventSynchronize(f));
    ask("cudaEventQuery", r.cudaEventQuery(f));
    ask("cudaEventQuery(null)", r.cudaEventQuery(nullptr));
    ask("cudaEventSynchronize(null)", r.cudaEventSynchronize(nullptr));
    ask("cudaEventElapsedTime", r.cudaEventElapsedTime(&milliseconds, e, f));
    note("it is not negative", milliseconds >= 0);
    ask("cudaEventElapsedTime without timing", r.cudaEventElapsedTime(&milliseconds, e, untimed));
    ask("cudaEventDestroy(null)", r.cudaEventDestroy(nullptr));
    ask("cudaEventDestroy", r.cudaEventDestroy(e));
    r.cudaEventDestroy(f);
    r.cudaEventDestroy(untimed);
    ask("cudaStreamDestroy", r.cudaStreamDestroy(s));
}

namespace {

void status(const char *of, cudaStream_t s) {
    cudaStreamCaptureStatus told{};
    const cudaError_t answer = r.cudaStreamIsCapturing(s, &told);
    ask((std::string("cudaStreamIsCapturing ") + of).c_str(), answer);
    if (answer == cudaSuccess) {
        note("status", told);
    }
}

void end(cudaStream_t s) {
    cudaGraph_t graph = nullptr;
    ask("cudaStreamEndCapture", r.cudaStreamEndCapture(s, &graph));
    note("graph", graph == nullptr ? "null" : "set");
    if (graph != nullptr) {
        r.cudaGraphDestroy(graph);
    }
}

cudaError_t info(cudaStream_t s, cudaStreamCaptureStatus &told, cudaGraph_t &graph,
                 const cudaGraphNode_t *&nodes, std::size_t &count) {
    unsigned long long id = 0;
#if CUDART_VERSION >= 13000
    const cudaGraphEdgeData *edges = nullptr;
    return r.cudaStreamGetCaptureInfo(s, &told, &id, &graph, &nodes, &edges, &count);
#else
    return r.cudaStreamGetCaptureInfo_v2(s, &told, &id, &graph, &nodes, &count);
#endif
}

cudaError_t set_dependencies(cudaStream_t s, cudaGraphNode_t *nodes, std::size_t count,
                             unsigned int flags) {
#if CUDART_VERSION >= 13000
    return r.cudaStreamUpdateCaptureDependencies(s, nodes, nullptr, count, flags);
#else
    return r.cudaStreamUpdateCaptureDependencies(s, nodes, count, flags);
#endif
}

void dependencies(cudaStream_t s, void *p) {
    cudaStreamCaptureStatus told{};
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t *nodes = nullptr;
    std::size_t count = 77;
    ask("cudaStreamGetCaptureInfo, none", info(s, told, graph, nodes, count));
    note("status", told);
    ask("cudaStreamUpdateCaptureDependencies, none", set_dependencies(s, nullptr, 0, 1));
    ask("cudaStreamBeginCapture", r.cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    r.cudaMemsetAsync(p, 0, 16, s);
    ask("cudaStreamGetCaptureInfo", info(s, told, graph, nodes, count));
    note("status", told);
    note("dependencies", static_cast<long long>(count));
    ask("cudaStreamGetCaptureInfo of the legacy stream",
        info(cudaStreamLegacy, told, graph, nodes, count));
    status("of the legacy stream", cudaStreamLegacy);
    ask("cudaStreamUpdateCaptureDependencies(set none)",
        set_dependencies(s, nullptr, 0, cudaStreamSetCaptureDependencies));
    info(s, told, graph, nodes, count);
    note("dependencies", static_cast<long long>(count));
    ask("cudaStreamUpdateCaptureDependencies(flags 77)", set_dependencies(s, nullptr, 0, 77));
    end(s);
}

} // namespace

void capture() {
    if (!begin()) {
        return;
    }
    cudaStream_t s = nullptr;
    void *p = nullptr, *q = nullptr;
    r.cudaStreamCreate(&s);
    r.cudaMalloc(&p, 4096);
    ask("cudaStreamBeginCapture(mode 7)",
        r.cudaStreamBeginCapture(s, static_cast<cudaStreamCaptureMode>(7)));
    ask("cudaStreamBeginCapture of the null stream",
        r.cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed));
    end(nullptr);
    ask("cudaStreamBeginCapture of the legacy stream",
        r.cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeRelaxed));
    end(s);
    for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                            cudaStreamCaptureModeRelaxed}) {
        note("-- mode", mode);
        ask("cudaStreamBeginCapture", r.cudaStreamBeginCapture(s, mode));
        ask("cudaStreamBeginCapture again", r.cudaStreamBeginCapture(s, mode));
        ask("cudaMemsetAsync", r.cudaMemsetAsync(p, 0, 16, s));
        status("of it", s);
        ask("cudaMalloc meanwhile", r.cudaMalloc(&q, 16));
        status("of it", s);
        end(s);
        r.cudaStreamBeginCapture(s, mode);
        ask("cudaStreamSynchronize of it", r.cudaStreamSynchronize(s));
        end(s);
        r.cudaStreamBeginCapture(s, mode);
        ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
        end(s);
        r.cudaStreamBeginCapture(s, mode);
        cudaError_t there = cudaSuccess;
        std::thread([&] {
            cudaGraph_t graph = nullptr;
            there = r.cudaStreamEndCapture(s, &graph);
        }).join();
        ask("cudaStreamEndCapture in another thread", there);
        end(s);
    }
    dependencies(s, p);
#if CUDART_VERSION >= 12030
    cudaGraph_t graph = nullptr, same = nullptr;
    r.cudaGraphCreate(&graph, 0);
    const auto relaxed = cudaStreamCaptureModeRelaxed;
    ask("cudaStreamBeginCaptureToGraph(mode 7)",
        r.cudaStreamBeginCaptureToGraph(s, graph, nullptr, nullptr, 0,
                                        static_cast<cudaStreamCaptureMode>(7)));
    ask("cudaStreamBeginCaptureToGraph",
        r.cudaStreamBeginCaptureToGraph(s, graph, nullptr, nullptr, 0, relaxed));
    r.cudaMemsetAsync(p, 0, 16, s);
    ask("cudaStreamEndCapture", r.cudaStreamEndCapture(s, &same));
    note("the same graph", same == graph);
    r.cudaGraphDestroy(graph);
#endif
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    ask("cudaThreadExchangeStreamCaptureMode", r.cudaThreadExchangeStreamCaptureMode(&mode));
    note("the old mode", mode);
    ask("cudaThreadExchangeStreamCaptureMode back", r.cudaThreadExchangeStreamCaptureMode(&mode));
    mode = static_cast<cudaStreamCaptureMode>(7);
    ask("cudaThreadExchangeStreamCaptureMode(7)", r.cudaThreadExchangeStreamCaptureMode(&mode));
    ask("cudaStreamBeginCapture", r.cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    ask("cudaLaunchHostFunc", r.cudaLaunchHostFunc(s, host_function, nullptr));
    ask("cudaStreamQuery of it", r.cudaStreamQuery(s));
    ask("cudaLaunchHostFunc then", r.cudaLaunchHostFunc(s, host_function, nullptr));
    end(s);
    ask("cudaStreamDestroy", r.cudaStreamDestroy(s));
    r.cudaFree(p);
}

void entry_points() {
    if (!begin()) {
        return;
    }
    void *function = nullptr;
#if CUDART_VERSION >= 12000
    cudaDriverEntryPointQueryResult result{};
    const auto found = [&](const char *what, cudaError_t status) {
        ask(what, status);
        if (status == cudaSuccess) {
            note("result", result);
            note("null", function == nullptr);
        }
    };
    const auto look_up = [&](const char *name, unsigned long long flags) {
        const std::string what =
            std::string("cudaGetDriverEntryPoint ") + name + ", flags " + std::to_string(flags);
        const cudaError_t status = r.cudaGetDriverEntryPoint(name, &function, flags, &result);
        found(what.c_str(), status);
    };
#else
    const auto look_up = [&](const char *name, unsigned long long flags) {
        const std::string what =
            std::string("cudaGetDriverEntryPoint ") + name + ", flags " + std::to_string(flags);
        ask(what.c_str(), r.cudaGetDriverEntryPoint(name, &function, flags));
    };
#endif
    look_up("cuMemAlloc", 0);
    look_up("cuMemcpyHtoD", cudaEnableLegacyStream);
    look_up("cuMemcpyHtoD", cudaEnablePerThreadDefaultStream);
    look_up("cuInit", 0x100);
    look_up("cuNothing", 0);
#if CUDART_VERSION >= 12050
    const auto look_up_version = [&](const char *name, unsigned int version,
                                     unsigned long long flags) {
        const std::string what = std::string("cudaGetDriverEntryPointByVersion ") + name + " " +
                                 std::to_string(version) + ", flags " + std::to_string(flags);
        found(what.c_str(),
              r.cudaGetDriverEntryPointByVersion(name, &function, version, flags, &result));
    };
    look_up_version("cuMemAlloc", 12000, 0);
    look_up_version("cuGreenCtxCreate", 11000, 0);
    look_up_version("cuNothing", 12000, 0);
    look_up_version("cuInit", 12000, 0x100);
#endif
}

} // namespace record::QUESTIONS::runtime
