// Streams, events, memory, modules and graphs that are made or used while the context of a green
// context is current, captures in its streams, and what of them outlives it.
#include "../../trace.hpp"
#include "../green_parts.hpp"
#include "../parameters.hpp"

#include <vector>

namespace record::QUESTIONS {

namespace {

void note_contexts(const GreenParts &of, const std::string &what, CUstream stream) {
    CUcontext its = nullptr, first = nullptr;
    CUgreenCtx green = nullptr, second = nullptr;
    const auto named = [](const auto &name) { return name.c_str(); };
    const Row row(what);
    ask("cuStreamGetCtx of " + what, d.cuStreamGetCtx(stream, &its))
        .told("context", named(of.name_of(its)));
    ask("cuStreamGetCtx_v2 of " + what, d.cuStreamGetCtx_v2(stream, &first, &second))
        .told("context", named(of.name_of(first)))
        .told("green context", named(of.name_of(second)));
    ask("cuStreamGetGreenCtx of " + what, d.cuStreamGetGreenCtx(stream, &green))
        .told("green context", named(of.name_of(green)));
}

void note_default_streams(const GreenParts &of, const std::string &current) {
    note_contexts(of, "null, " + current + " current", nullptr);
    note_contexts(of, "legacy, " + current + " current", CU_STREAM_LEGACY);
    note_contexts(of, "per-thread, " + current + " current", CU_STREAM_PER_THREAD);
}

void streams(const GreenParts &of) {
    CUstream own = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    CUstream plain = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    note_contexts(of, "a's stream, primary current", own);
    note_contexts(of, "a stream of the primary one", plain);
    note_default_streams(of, "primary");
    d.cuCtxSetCurrent(of.in_a);
    CUstream made = nullptr, blocking = nullptr, urgent = nullptr;
    ASK(cuStreamCreate, ", non-blocking, a current", &made, CU_STREAM_NON_BLOCKING);
    ASK(cuStreamCreate, ", blocking, a current", &blocking, CU_STREAM_DEFAULT);
    ASK(cuStreamCreateWithPriority, ", a current", &urgent, CU_STREAM_NON_BLOCKING, -3);
    note_contexts(of, "a's stream, a current", own);
    note_contexts(of, "a stream of the primary one, a current", plain);
    note_contexts(of, "a stream made with a current", made);
    note_contexts(of, "a blocking stream made with a current", blocking);
    note_contexts(of, "an urgent stream made with a current", urgent);
    note_default_streams(of, "a");
    d.cuCtxSetCurrent(of.in_b);
    note_contexts(of, "a's stream, b current", own);
    note_contexts(of, "a stream made with a current, b current", made);
    d.cuCtxSetCurrent(nullptr);
    note_contexts(of, "a stream made with a current, none current", made);
    note_default_streams(of, "none");
    CUcontext its = nullptr;
    CUgreenCtx green = nullptr;
    ASK(cuStreamGetCtx_v2, "(no outputs)", made, nullptr, nullptr);
    ASK(cuStreamGetCtx_v2, "(no context)", made, nullptr, &green);
    ASK(cuStreamGetCtx_v2, "(no green context)", made, &its, nullptr);
    ASK(cuStreamGetCtx, "(null output)", made, nullptr);
    ASK(cuStreamGetGreenCtx, "(null output)", made, nullptr);
}

void stream_calls(const GreenParts &of) {
    CUstream own = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, -100);
    CUstream plain = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUstream other = MAKE(cuGreenCtxStreamCreate, of.b, CU_STREAM_NON_BLOCKING, 100);
    CUdeviceptr p = MAKE(cuMemAlloc, 64);
    CUstream none = nullptr;
    int priority = 77;
    unsigned int flags = 77;
    CUdevice device = 77;
    ASK(cuGreenCtxStreamCreate, "(null output)", nullptr, of.a, CU_STREAM_NON_BLOCKING, 0);
    ASK(cuGreenCtxStreamCreate, "(null)", &none, nullptr, CU_STREAM_NON_BLOCKING, 0);
    ASK(cuStreamGetPriority, " -100", own, &priority).told("priority", priority);
    ASK(cuStreamGetPriority, " 100", other, &priority).told("priority", priority);
    ASK(cuStreamGetFlags, "", own, &flags).told("flags", flags);
    ASK(cuStreamGetDevice, "", own, &device).told("device", device);
    ASK(cuStreamCopyAttributes, " from the primary one's", own, plain);
    ASK(cuStreamCopyAttributes, " from b's", own, other);
    ASK(cuMemsetD8Async, " in a's stream, primary current", p, 1, 64, own);
    d.cuCtxSetCurrent(of.in_b);
    ASK(cuMemsetD8Async, " in a's stream, b current", p, 1, 64, own);
    ASK(cuMemsetD8Async, " in the primary one's stream, b current", p, 1, 64, plain);
    ASK(cuMemsetD8Async, " in the null stream, b current", p, 1, 64, nullptr);
    ASK(cuMemsetD8Async, " in the legacy stream, b current", p, 1, 64, CU_STREAM_LEGACY);
    ASK(cuMemsetD8Async, " in the per-thread stream, b current", p, 1, 64, CU_STREAM_PER_THREAD);
    ASK(cuStreamSynchronize, " of the null stream, b current", nullptr);
    ASK(cuStreamSynchronize, " of the per-thread stream, b current", CU_STREAM_PER_THREAD);
    ASK(cuStreamQuery, " of a's stream, b current", own);
    ASK(cuCtxSynchronize, ", b current");
    ASK(cuStreamQuery, " of the null stream, b current", nullptr);
    const auto nothing = [](void *) {};
    ASK(cuLaunchHostFunc, " in a's stream, b current", own, nothing, nullptr);
    ASK(cuStreamSynchronize, " of a's stream, b current", own);
    ASK(cuStreamDestroy, " of a's stream, b current", own);
    d.cuCtxSetCurrent(nullptr);
    ASK(cuMemsetD8Async, " in b's stream, none current", p, 1, 64, other);
    ASK(cuStreamDestroy, " of b's stream, none current", other);
}

void events(const GreenParts &of) {
    CUstream plain = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUstream own = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    CUstream other = MAKE(cuGreenCtxStreamCreate, of.b, CU_STREAM_NON_BLOCKING, 0);
    CUevent primary = MAKE(cuEventCreate, 0);
    d.cuCtxSetCurrent(of.in_a);
    CUevent made = nullptr;
    ASK(cuEventCreate, ", a current", &made, 0);
    ASK(cuEventRecord, " of a's in a's stream", made, own);
    ASK(cuEventRecord, " of a's in the primary one's stream", made, plain);
    ASK(cuEventRecord, " of a's in b's stream", made, other);
    ASK(cuEventRecord, " of a's in the null stream, a current", made, nullptr);
    ASK(cuEventRecord, " of the primary one's in a's stream", primary, own);
    ASK(cuEventRecord, " of the primary one's in the null stream, a current", primary, nullptr);
    ASK(cuStreamWaitEvent, " of a's, by b's stream", other, made, 0);
    ASK(cuStreamWaitEvent, " of a's, by the primary one's stream", plain, made, 0);
    ASK(cuStreamWaitEvent, " of a's, by the null stream, a current", nullptr, made, 0);
    ASK(cuCtxRecordEvent, " of a's in a", of.in_a, made);
    ASK(cuCtxRecordEvent, " of the primary one's in a", of.in_a, primary);
    ASK(cuCtxRecordEvent, " of a's in b", of.in_b, made);
    ASK(cuCtxRecordEvent, " of a's in the primary one", context(), made);
    ASK(cuCtxWaitEvent, " of a's, by a", of.in_a, made);
    ASK(cuCtxWaitEvent, " of a's, by b", of.in_b, made);
    ASK(cuCtxWaitEvent, " of a's, by the primary one", context(), made);
    ASK(cuGreenCtxRecordEvent, " of a's in a", of.a, made);
    ASK(cuGreenCtxRecordEvent, " of the primary one's in a", of.a, primary);
    ASK(cuGreenCtxRecordEvent, " of a's in b", of.b, made);
    ASK(cuGreenCtxRecordEvent, "(null event)", of.a, nullptr);
    ASK(cuGreenCtxRecordEvent, "(null)", nullptr, made);
    ASK(cuGreenCtxWaitEvent, " of a's, by b", of.b, made);
    ASK(cuGreenCtxWaitEvent, "(null event)", of.b, nullptr);
    ASK(cuGreenCtxWaitEvent, "(null)", nullptr, made);
    d.cuCtxSetCurrent(of.in_b);
    ASK(cuEventSynchronize, " of a's, b current", made);
    ASK(cuEventQuery, " of a's, b current", made);
    float elapsed = 0;
    d.cuEventRecord(made, own);
    d.cuEventRecord(primary, plain);
    d.cuCtxSynchronize_v2(context());
    ASK(cuEventElapsedTime, " from a's to the primary one's", &elapsed, made, primary);
    CUcontext created = MAKE(cuCtxCreate_v2, 0, 0);
    CUevent elsewhere = MAKE(cuEventCreate, 0);
    ASK(cuEventRecord, " of a created context's in a's stream", elsewhere, own);
    ASK(cuCtxRecordEvent, " of a created context's in a", of.in_a, elsewhere);
    ASK(cuGreenCtxRecordEvent, " of a created context's in a", of.a, elsewhere);
    ASK(cuGreenCtxWaitEvent, " of a created context's, by a", of.a, elsewhere);
    ASK(cuCtxWaitEvent, " of a created context's, by a", of.in_a, elsewhere);
    ASK(cuEventRecord, " of a's in the null stream, a created context current", made, nullptr);
    ASK(cuCtxDestroy, " of the created context", created);
    d.cuCtxSetCurrent(nullptr);
    ASK(cuEventDestroy, " of a's, none current", made);
}

// --- memory

void note_owner(const GreenParts &of, const std::string &what, CUdeviceptr p) {
    const Row row("the context of " + what);
    CUcontext owner = nullptr;
    CUdeviceptr q = 0;
    ask("CONTEXT of " + what, d.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, p))
        .told("context", of.name_of(owner).c_str());
    ask("DEVICE_POINTER of " + what,
        d.cuPointerGetAttribute(&q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p));
}

CUdeviceptr address_of(const void *host) {
    return reinterpret_cast<std::uintptr_t>(host);
}

void memory(const GreenParts &of) {
    alignas(4096) static char own[4096];
    d.cuCtxSetCurrent(of.in_a);
    CUdeviceptr plain = 0, managed = 0, ordered = 0;
    void *pinned = nullptr;
    ASK(cuMemAlloc, "", &plain, 4096);
    ASK(cuMemAllocManaged, "", &managed, 4096, CU_MEM_ATTACH_GLOBAL);
    ASK(cuMemAllocAsync, " in the null stream", &ordered, 4096, nullptr);
    ASK(cuMemHostAlloc, "", &pinned, 4096, 0);
    ASK(cuMemHostRegister, "", own, sizeof own, 0);
    const auto all = [&](const std::string &current) {
        note_owner(of, "cuMemAlloc, " + current, plain);
        note_owner(of, "cuMemAllocManaged, " + current, managed);
        note_owner(of, "cuMemAllocAsync, " + current, ordered);
        note_owner(of, "cuMemHostAlloc, " + current, address_of(pinned));
        note_owner(of, "cuMemHostRegister, " + current, address_of(own));
    };
    all("a current");
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR description{
        .Width = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
    ASK(cuArrayCreate, "", &array, &description);
    std::size_t left = 0, total = 0;
    ASK(cuMemGetInfo, "", &left, &total);
    ASK(cuMemcpyHtoD, "", plain, own, 16);
    ASK(cuMemsetD8, "", plain, 0, 16);
    ASK(cuMemPrefetchAsync, "", managed, 4096, CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0,
        nullptr);
    ASK(cuMemcpyPeer, " from a to the primary one", plain, context(), plain + 64, of.in_a, 16);
    ASK(cuMemcpyPeer, " from a to b", plain, of.in_b, plain + 64, of.in_a, 16);
    d.cuCtxSetCurrent(of.in_b);
    all("b current");
    ASK(cuMemFree, ", b current", plain);
    ASK(cuMemFree, " of managed memory, b current", managed);
    ASK(cuMemFreeAsync, " in the null stream, b current", ordered, nullptr);
    ASK(cuMemFreeHost, ", b current", pinned);
    d.cuCtxSetCurrent(context());
    ASK(cuMemHostUnregister, ", primary current", own);
    ASK(cuArrayDestroy, ", primary current", array);
}

void peers(const GreenParts &of) {
    ASK(cuCtxEnablePeerAccess, " of a, primary current", of.in_a, 0);
    ASK(cuCtxDisablePeerAccess, " of a, primary current", of.in_a);
    d.cuCtxSetCurrent(of.in_a);
    ASK(cuCtxEnablePeerAccess, " of the primary one, a current", context(), 0);
    ASK(cuCtxEnablePeerAccess, " of b, a current", of.in_b, 0);
    ASK(cuCtxEnablePeerAccess, " of a, a current", of.in_a, 0);
    ASK(cuCtxDisablePeerAccess, " of b, a current", of.in_b);
    CUcontext created = MAKE(cuCtxCreate_v2, 0, 0);
    ASK(cuCtxEnablePeerAccess, " of a, a created context current", of.in_a, 0);
    ASK(cuCtxDestroy, " of the created context", created);
}

// --- code

void code(const GreenParts &of) {
    CUstream own = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    CUstream plain = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUmodule before = MAKE(cuModuleLoadData, ptx);
    CUfunction primary = MAKE(cuModuleGetFunction, before, "empty");
    CUlibrary library = MAKE(cuLibraryLoadData, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    CUkernel kernel = MAKE(cuLibraryGetKernel, library, "empty");
    CUmodule in_primary = MAKE(cuLibraryGetModule, library), in_a = nullptr, made = nullptr;
    CUfunction of_primary = MAKE(cuKernelGetFunction, kernel), of_a = nullptr, function = nullptr;
    CUdeviceptr first = 0, second = 0;
    std::size_t bytes = 0;
    d.cuLibraryGetGlobal(&first, &bytes, library, "counter");
    d.cuCtxSetCurrent(of.in_a);
    ASK(cuLibraryGetModule, ", a current", &in_a, library).told("the same", in_a == in_primary);
    ASK(cuKernelGetFunction, ", a current", &of_a, kernel).told("the same", of_a == of_primary);
    ASK(cuLibraryGetGlobal, ", a current", &second, &bytes, library, "counter");
    note("the same", first == second);
    note_owner(of, "a variable", second);
    ASK(cuModuleLoadData, ", a current", &made, ptx);
    ASK(cuModuleGetFunction, ", a current", &function, made, "empty");
    ASK(cuModuleGetGlobal, ", a current", &second, &bytes, made, "counter");
    note_owner(of, "a variable of a module", second);
    const auto launch = [](const char *what, auto what_runs, CUstream stream) {
        ask(std::string("cuLaunchKernel of ") + what,
            d.cuLaunchKernel(reinterpret_cast<CUfunction>(what_runs), 1, 1, 1, 1, 1, 1, 0, stream,
                             nullptr, nullptr));
    };
    launch("the primary one's function in a's stream", primary, own);
    launch("the primary one's function in the null stream, a current", primary, nullptr);
    launch("a's function in a's stream", function, own);
    launch("a's function in the primary one's stream", function, plain);
    launch("a kernel in a's stream", kernel, own);
    launch("a kernel in the primary one's stream, a current", kernel, plain);
    launch("the primary one's function of the kernel in a's stream", of_primary, own);
    d.cuCtxSetCurrent(of.in_b);
    launch("a's function in a's stream, b current", function, own);
    launch("a's function in the null stream, b current", function, nullptr);
    ASK(cuModuleUnload, " of a's, b current", made);
    ASK(cuModuleUnload, " of the primary one's, b current", before);
    int blocks = 77;
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessor, ", b current", &blocks, of_primary, 64, 0);
    note("blocks", blocks);
}

// --- graphs

void graphs(const GreenParts &of) {
    CUstream own = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    CUlibrary library = MAKE(cuLibraryLoadData, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    CUkernel kernel = MAKE(cuLibraryGetKernel, library, "empty");
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    CUgraphNode node = nullptr;
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(p, 1, 1, 16);
    const auto copy = copy_of<CUDA_MEMCPY3D>(p, p + 64, 16);
    const auto launch = launch_of(kernel, of.in_a);
    ASK(cuGraphAddMemsetNode, " of a", &node, graph, nullptr, 0, &fill, of.in_a);
    ASK(cuGraphAddMemcpyNode, " of a", &node, graph, nullptr, 0, &copy, of.in_a);
    ASK(cuGraphAddKernelNode, " of a", &node, graph, nullptr, 0, &launch);
    CUDA_KERNEL_NODE_PARAMS shown{};
    ASK(cuGraphKernelNodeGetParams, " of a", node, &shown);
    note("context", of.name_of(shown.ctx).c_str());
    CUgraphConditionalHandle handle{};
    ASK(cuGraphConditionalHandleCreate, " of a", &handle, graph, of.in_a, 0, 0);
    CUgraphExec exec = nullptr;
    CUgraph nodes = MAKE(cuGraphCreate, 0);
    CUgraphNode filling = MAKE(cuGraphAddMemsetNode, nodes, nullptr, 0, &fill, of.in_a);
    d.cuGraphAddKernelNode(&node, nodes, nullptr, 0, &launch);
    ASK(cuGraphInstantiateWithFlags, "", &exec, nodes, 0);
    ASK(cuGraphLaunch, " in a's stream", exec, own);
    ASK(cuGraphLaunch, " in the null stream, primary current", exec, nullptr);
    d.cuCtxSetCurrent(of.in_b);
    ASK(cuGraphLaunch, " in the null stream, b current", exec, nullptr);
    ASK(cuGraphExecMemsetNodeSetParams, " to b", exec, filling, &fill, of.in_b);
    ASK(cuCtxSynchronize, "");
}

// --- captures

void note_capture(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    ASK(cuStreamIsCapturing, "", stream, &status).told("status", status);
    CUgraph graph = nullptr;
    std::size_t count = 0;
    ASK(cuStreamEndCapture, "", stream, &graph);
    if (graph != nullptr) {
        d.cuGraphGetNodes(graph, nullptr, &count);
        note("nodes", count);
    }
}

void captures(const GreenParts &of) {
    constexpr auto mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUdeviceptr p = MAKE(cuMemAlloc, 64), q = 0;
    CUstream own = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    CUstream plain = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUevent event = MAKE(cuEventCreate, 0);
    const std::vector<std::pair<const char *, CUstream>> both{{"a's", own}, {"primary's", plain}};
    for (const auto &[whose, s] : both) {
        const auto in = [&, whose = std::string(whose), s = s](const std::string &what, auto call) {
            const Row row(what + ", " + whose + " stream captures");
            d.cuStreamBeginCapture(s, mode);
            d.cuMemsetD8Async(p, 1, 16, s);
            ask(what + ", " + whose + " stream captures", call());
            note_capture(s);
        };
        in("cuCtxSynchronize_v2 of a", [&] { return d.cuCtxSynchronize_v2(of.in_a); });
        in("cuCtxSynchronize_v2 of b", [&] { return d.cuCtxSynchronize_v2(of.in_b); });
        in("cuCtxSynchronize_v2 of the primary one",
           [&] { return d.cuCtxSynchronize_v2(context()); });
        in("cuCtxSynchronize", [] { return d.cuCtxSynchronize(); });
        in("cuGreenCtxRecordEvent of a", [&] { return d.cuGreenCtxRecordEvent(of.a, event); });
        in("cuGreenCtxRecordEvent of b", [&] { return d.cuGreenCtxRecordEvent(of.b, event); });
        in("cuGreenCtxWaitEvent of a", [&] { return d.cuGreenCtxWaitEvent(of.a, event); });
        in("cuCtxRecordEvent of a", [&] { return d.cuCtxRecordEvent(of.in_a, event); });
        in("cuCtxRecordEvent of the primary one",
           [&] { return d.cuCtxRecordEvent(context(), event); });
        in("cuCtxWaitEvent of a", [&] { return d.cuCtxWaitEvent(of.in_a, event); });
        in("cuCtxWaitEvent of the primary one", [&] { return d.cuCtxWaitEvent(context(), event); });
        in("cuGreenCtxDestroy of b", [&] {
            CUgreenCtx green = nullptr;
            CUdevResource all{}, group{};
            CUdevResourceDesc description = nullptr;
            unsigned int count = 1;
            d.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);
            d.cuDevSmResourceSplitByCount(&group, &count, &all, nullptr, 0, 8);
            d.cuDevResourceGenerateDesc(&description, &group, 1);
            ASK(cuGreenCtxCreate, "", &green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
            return d.cuGreenCtxDestroy(green);
        });
        in("cuMemAlloc", [&] { return d.cuMemAlloc(&q, 16); });
        in("cuMemAllocAsync in it", [&, s = s] { return d.cuMemAllocAsync(&q, 16, s); });
        for (const CUcontext current : {context(), of.in_a, of.in_b}) {
            d.cuCtxSetCurrent(current);
            in("null stream, current " + of.name_of(current),
               [&] { return d.cuMemsetD8Async(p, 1, 16, nullptr); });
        }
        d.cuCtxSetCurrent(context());
    }
}

// Blocking streams, and the null streams of the contexts.
void blocking_captures(const GreenParts &of) {
    CUdeviceptr p = MAKE(cuMemAlloc, 64);
    for (const CUcontext maker : {context(), of.in_a}) {
        d.cuCtxSetCurrent(maker);
        CUstream s = MAKE(cuStreamCreate, CU_STREAM_DEFAULT);
        for (const CUcontext current : {context(), of.in_a, of.in_b}) {
            d.cuCtxSetCurrent(current);
            const Row row("null stream, current " + of.name_of(current) + ", made in " +
                          of.name_of(maker));
            d.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
            d.cuMemsetD8Async(p, 1, 16, s);
            ask("null stream, current " + of.name_of(current) + ", made in " + of.name_of(maker),
                d.cuMemsetD8Async(p, 1, 16, nullptr));
            note_capture(s);
        }
    }
}

// Streams of two green contexts in one capture.
void joined_captures(const GreenParts &of) {
    CUdeviceptr p = MAKE(cuMemAlloc, 64);
    CUstream first = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    CUstream second = MAKE(cuGreenCtxStreamCreate, of.b, CU_STREAM_NON_BLOCKING, 0);
    CUevent event = MAKE(cuEventCreate, 0);
    ASK(cuStreamBeginCapture, "", first, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ASK(cuEventRecord, "", event, first);
    ASK(cuStreamWaitEvent, " by b's stream", second, event, 0);
    ASK(cuMemsetD8Async, " in b's stream", p, 1, 16, second);
    ASK(cuEventRecord, " in b's stream", event, second);
    ASK(cuStreamWaitEvent, "", first, event, 0);
    note_capture(first);
}

// --- the end

// With its streams, events and memory.
void ended_with_objects(const GreenParts &of) {
    CUstream plain = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    d.cuCtxSetCurrent(of.in_a);
    CUevent event = MAKE(cuEventCreate, 0);
    CUdeviceptr p = MAKE(cuMemAlloc, 64), ordered = MAKE(cuMemAllocAsync, 64, nullptr);
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    CUfunction function = MAKE(cuModuleGetFunction, module, "empty");
    d.cuCtxSynchronize();
    d.cuCtxSetCurrent(context());
    ASK(cuGreenCtxDestroy, "", of.a);
    ASK(cuEventRecord, " of a's event in the primary one's stream", event, plain);
    ASK(cuEventSynchronize, "", event);
    ASK(cuEventQuery, "", event);
    ASK(cuEventDestroy, "", event);
    ASK(cuMemsetD8, "", p, 0, 16);
    note_owner(of, "memory", p);
    ASK(cuMemFree, "", p);
    ASK(cuMemFreeAsync, "", ordered, plain);
    ASK(cuModuleGetFunction, "", &function, module, "add");
    ASK(cuModuleUnload, "", module);
    ASK(cuCtxSynchronize, "");
}

template <class Body>
void ended_with_stream(const GreenParts &of, const Body &body) {
    CUstream stream = MAKE(cuGreenCtxStreamCreate, of.a, CU_STREAM_NON_BLOCKING, 0);
    ASK(cuGreenCtxDestroy, "", of.a);
    body(stream);
}

void ended_with_graph(const GreenParts &of) {
    CUdeviceptr p = MAKE(cuMemAlloc, 64);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    CUgraphNode node = nullptr;
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(p, 1, 1, 16);
    d.cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, of.in_a);
    CUgraphExec exec = MAKE(cuGraphInstantiateWithFlags, graph, 0);
    ASK(cuGreenCtxDestroy, "", of.a);
    ASK(cuGraphMemsetNodeSetParams, "", node, &fill);
    ASK(cuGraphLaunch, "", exec, nullptr);
    ASK(cuCtxSynchronize, "");
    ASK(cuGraphExecDestroy, "", exec);
    ASK(cuGraphDestroy, "", graph);
}

} // namespace

SECTION_ONCE("green_context_objects") {
    ask_apart("streams", [] { // with its calls: no other section has all of them
        GreenParts parts;
        if (make(parts)) {
            streams(parts);
        }
    });
    with_green("events", events);
    with_green("memory", memory);
    with_green("peers", peers);
    with_green("code", code);
    with_green("graphs", graphs);
}

SECTION_ONCE("green_context_streams") {
    with_green("stream calls", stream_calls);
}

SECTION_ONCE("green_context_captures") {
    with_green("captures", captures);
    with_green("blocking captures", blocking_captures);
    with_green("joined captures", joined_captures);
}

SECTION_ONCE("green_context_ends_with_objects") {
    with_green("objects", ended_with_objects);
    with_green("stream, asked", [](const GreenParts &of) {
        ended_with_stream(of, [&](CUstream s) {
            CUcontext its = nullptr;
            ASK(cuStreamGetCtx, "", s, &its).told("context", of.name_of(its).c_str());
        });
    });
    with_green("stream, asked for its green context", [](const GreenParts &of) {
        ended_with_stream(of, [&](CUstream s) {
            CUgreenCtx green = nullptr;
            ASK(cuStreamGetGreenCtx, "", s, &green).told("green", of.name_of(green).c_str());
        });
    });
    with_green("stream, queried", [](const GreenParts &of) {
        ended_with_stream(of, [](CUstream s) { ASK(cuStreamQuery, "", s); });
    });
    with_green("stream, synchronized", [](const GreenParts &of) {
        ended_with_stream(of, [](CUstream s) { ASK(cuStreamSynchronize, "", s); });
    });
    with_green("stream, used", [](const GreenParts &of) {
        CUdeviceptr p = MAKE(cuMemAlloc, 64);
        ended_with_stream(of, [=](CUstream s) { ASK(cuMemsetD8Async, "", p, 1, 16, s); });
    });
    with_green("stream, destroyed", [](const GreenParts &of) {
        ended_with_stream(of, [](CUstream s) { ASK(cuStreamDestroy, "", s); });
    });
    with_green("graph", ended_with_graph);
}

} // namespace record::QUESTIONS
