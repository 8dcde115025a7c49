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
    ASK(cudaStreamGetAttribute, "(synchronization policy)", s, policy, &value);
    ASK(cudaStreamGetAttribute, "(77)", s, unknown, &value);
    value = {};
    value.syncPolicy = cudaSyncPolicyYield;
    ASK(cudaStreamSetAttribute, "(synchronization policy)", s, policy, &value);
    ASK(cudaStreamSetAttribute, "(77)", s, unknown, &value);
    ASK(cudaStreamCopyAttributes, "", other, s);
    value = {};
    r.cudaStreamGetAttribute(other, policy, &value);
    note("the policy was copied", value.syncPolicy == cudaSyncPolicyYield);
}

void host_functions(cudaStream_t s) {
    cudaError_t answers[3] = {};
    ASK(cudaLaunchHostFunc, "(null)", s, nullptr, nullptr);
    ASK(cudaLaunchHostFunc, "", s, asking_host_function, answers);
    ASK(cudaStreamSynchronize, "", s);
    ask("inside: cudaMalloc", answers[0]);
    ask("inside: cudaGetDeviceCount", answers[1]);
    ask("inside: cudaGetLastError", answers[2]);
    ASK(cudaStreamAddCallback, "(null)", s, nullptr, nullptr, 0);
    ASK(cudaStreamAddCallback, "(flags 1)", s, callback, nullptr, 1);
    ASK(cudaStreamAddCallback, "", s, callback, nullptr, 0);
}

} // namespace

SECTION("streams", begin) {
    cudaStream_t s = nullptr, other = nullptr, high = nullptr;
    unsigned int flags = 77;
    int priority = 77;
    ASK(cudaStreamCreate, "(null)", nullptr);
    ASK(cudaStreamCreate, "", &s);
    ASK(cudaStreamCreateWithFlags, "(0x10)", &other, 0x10);
    ASK(cudaStreamCreateWithFlags, "(non-blocking)", &other, cudaStreamNonBlocking);
    ASK(cudaStreamCreateWithPriority, "(flags 0x10)", &high, 0x10, 0);
    ASK(cudaStreamCreateWithPriority, "(-100)", &high, 0, -100);
    ASK(cudaStreamGetPriority, "", high, &priority).note("priority", priority);
    ASK(cudaStreamGetPriority, " of the null stream", nullptr, &priority);
    note("priority", priority);
    ASK(cudaStreamGetFlags, "", other, &flags).note("flags", flags);
    ASK(cudaStreamGetFlags, " of the null stream", nullptr, &flags).note("flags", flags);
#if CUDART_VERSION >= 12000
    unsigned long long id = 0, another = 0;
    ASK(cudaStreamGetId, "", s, &id);
    ASK(cudaStreamGetId, " of the null stream", nullptr, &another);
    note("it is another one", id != another);
#endif
#if CUDART_VERSION >= 12080
    int device = 77;
    ASK(cudaStreamGetDevice, "", s, &device).note("device", device);
#endif
    attributes_of(s, other);
    host_functions(s);
    ASK(cudaStreamSynchronize, "", s);
    ASK(cudaStreamQuery, "", s);
    ASK(cudaStreamQuery, " of the null stream", nullptr);
    ASK(cudaStreamDestroy, "(null)", nullptr);
    ASK(cudaStreamDestroy, " of the legacy stream", cudaStreamLegacy);
    ASK(cudaStreamDestroy, "", s);
    ASK(cudaStreamDestroy, "", other);
    ASK(cudaStreamDestroy, "", high);
}

SECTION("events", begin) {
    cudaEvent_t e = nullptr, f = nullptr;
    float milliseconds = -1;
    cudaStream_t s = MAKE(cudaStreamCreate);
    ASK(cudaEventCreate, "(null)", nullptr);
    ASK(cudaEventCreate, "", &e);
    ASK(cudaEventCreateWithFlags, "(0x100)", &f, 0x100);
    ASK(cudaEventCreateWithFlags, "(interprocess)", &f, cudaEventInterprocess);
    ASK(cudaEventCreateWithFlags, "", &f, cudaEventBlockingSync);
    cudaEvent_t untimed = MAKE(cudaEventCreateWithFlags, cudaEventDisableTiming);
    ASK(cudaEventQuery, ", never recorded", e);
    ASK(cudaEventSynchronize, ", never recorded", e);
    ASK(cudaEventElapsedTime, ", never recorded", &milliseconds, e, f);
    ASK(cudaEventRecord, "", e, s);
    ASK(cudaEventRecord, " into the null stream", f, nullptr);
    ASK(cudaEventRecordWithFlags, "", f, s, cudaEventRecordDefault);
    ASK(cudaEventRecordWithFlags, "(external)", f, s, cudaEventRecordExternal);
    ASK(cudaEventRecordWithFlags, "(0x10)", f, s, 0x10);
    ASK(cudaEventRecord, "(null)", nullptr, s);
    r.cudaEventRecord(untimed, s);
    ASK(cudaStreamWaitEvent, "", s, f, 0);
    ASK(cudaStreamWaitEvent, "(null)", s, nullptr, 0);
    ASK(cudaStreamWaitEvent, "(flags 2)", s, f, 2);
    ASK(cudaEventSynchronize, "", f);
    ASK(cudaEventQuery, "", f);
    ASK(cudaEventQuery, "(null)", nullptr);
    ASK(cudaEventSynchronize, "(null)", nullptr);
    ASK(cudaEventElapsedTime, "", &milliseconds, e, f);
    note("it is not negative", milliseconds >= 0);
    ASK(cudaEventElapsedTime, " without timing", &milliseconds, e, untimed);
    ASK(cudaEventDestroy, "(null)", nullptr);
    ASK(cudaEventDestroy, "", e);
    r.cudaEventDestroy(f);
    r.cudaEventDestroy(untimed);
    ASK(cudaStreamDestroy, "", s);
}

namespace {

void status(const char *of, cudaStream_t s) {
    cudaStreamCaptureStatus told{};
    const cudaError_t answer = r.cudaStreamIsCapturing(s, &told);
    ask(std::string("cudaStreamIsCapturing ") + of, answer);
    if (answer == cudaSuccess) {
        note("status", told);
    }
}

void end(cudaStream_t s) {
    cudaGraph_t graph = nullptr;
    ASK(cudaStreamEndCapture, "", s, &graph).note("graph", graph == nullptr ? "null" : "set");
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
    ask("cudaStreamGetCaptureInfo, none", info(s, told, graph, nodes, count)).note("status", told);
    ask("cudaStreamUpdateCaptureDependencies, none", set_dependencies(s, nullptr, 0, 1));
    ASK(cudaStreamBeginCapture, "", s, cudaStreamCaptureModeRelaxed);
    r.cudaMemsetAsync(p, 0, 16, s);
    ask("cudaStreamGetCaptureInfo", info(s, told, graph, nodes, count)).note("status", told);
    note("dependencies", count);
    ask("cudaStreamGetCaptureInfo of the legacy stream",
        info(cudaStreamLegacy, told, graph, nodes, count));
    status("of the legacy stream", cudaStreamLegacy);
    ask("cudaStreamUpdateCaptureDependencies(set none)",
        set_dependencies(s, nullptr, 0, cudaStreamSetCaptureDependencies));
    info(s, told, graph, nodes, count);
    note("dependencies", count);
    ask("cudaStreamUpdateCaptureDependencies(flags 77)", set_dependencies(s, nullptr, 0, 77));
    end(s);
}

} // namespace

SECTION("capture", begin) {
    void *q = nullptr;
    cudaStream_t s = MAKE(cudaStreamCreate);
    void *p = MAKE(cudaMalloc, 4096);
    ASK(cudaStreamBeginCapture, "(mode 7)", s, static_cast<cudaStreamCaptureMode>(7));
    ASK(cudaStreamBeginCapture, " of the null stream", nullptr, cudaStreamCaptureModeRelaxed);
    end(nullptr);
    ASK(cudaStreamBeginCapture, " of the legacy stream", cudaStreamLegacy,
        cudaStreamCaptureModeRelaxed);
    end(s);
    for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                            cudaStreamCaptureModeRelaxed}) {
        note("-- mode", mode);
        ASK(cudaStreamBeginCapture, "", s, mode);
        ASK(cudaStreamBeginCapture, " again", s, mode);
        ASK(cudaMemsetAsync, "", p, 0, 16, s);
        status("of it", s);
        ASK(cudaMalloc, " meanwhile", &q, 16);
        status("of it", s);
        end(s);
        r.cudaStreamBeginCapture(s, mode);
        ASK(cudaStreamSynchronize, " of it", s);
        end(s);
        r.cudaStreamBeginCapture(s, mode);
        ASK(cudaDeviceSynchronize, "");
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
    cudaGraph_t same = nullptr;
    cudaGraph_t graph = MAKE(cudaGraphCreate, 0);
    const auto relaxed = cudaStreamCaptureModeRelaxed;
    ASK(cudaStreamBeginCaptureToGraph, "(mode 7)", s, graph, nullptr, nullptr, 0,
        static_cast<cudaStreamCaptureMode>(7));
    ASK(cudaStreamBeginCaptureToGraph, "", s, graph, nullptr, nullptr, 0, relaxed);
    r.cudaMemsetAsync(p, 0, 16, s);
    ASK(cudaStreamEndCapture, "", s, &same).note("the same graph", same == graph);
    r.cudaGraphDestroy(graph);
#endif
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    ASK(cudaThreadExchangeStreamCaptureMode, "", &mode).note("the old mode", mode);
    ASK(cudaThreadExchangeStreamCaptureMode, " back", &mode);
    mode = static_cast<cudaStreamCaptureMode>(7);
    ASK(cudaThreadExchangeStreamCaptureMode, "(7)", &mode);
    ASK(cudaStreamBeginCapture, "", s, cudaStreamCaptureModeRelaxed);
    ASK(cudaLaunchHostFunc, "", s, host_function, nullptr);
    ASK(cudaStreamQuery, " of it", s);
    ASK(cudaLaunchHostFunc, " then", s, host_function, nullptr);
    end(s);
    ASK(cudaStreamDestroy, "", s);
    r.cudaFree(p);
}

SECTION("entry_points", begin) {
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
        ask(what, r.cudaGetDriverEntryPoint(name, &function, flags));
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
