// Streams, events, modules, launches, resolution of names.
#include "../../trace.hpp"
#include "../parameters.hpp"

#include <cstring>
#include <vector>

namespace record::QUESTIONS {

const char ptx[] = R"(.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter;
.global .align 8 .b8 table[32];
.visible .entry add(.param .u64 out, .param .u32 n)
{
    ret;
}
.visible .entry empty()
{
    ret;
}
.visible .entry limited(.param .u8 a, .param .f64 b, .param .align 8 .b8 c[20]) .maxntid 64, 1, 1
{
    ret;
}
)";

SECTION("streams", start) {
    CUstream s = nullptr, high = nullptr;
    unsigned int flags = 99;
    int priority = 99;
    unsigned long long id = 0;
    CUcontext of = nullptr;
    ASK(cuStreamCreate, "(null)", nullptr, 0);
    ASK(cuStreamCreate, " flags 2", &s, 2);
    ASK(cuStreamCreate, " non-blocking", &s, CU_STREAM_NON_BLOCKING);
    ASK(cuStreamGetFlags, "", s, &flags).note("flags", flags);
    ASK(cuStreamGetFlags, "(null stream)", nullptr, &flags).note("flags", flags);
    ASK(cuStreamGetFlags, "(per thread)", CU_STREAM_PER_THREAD, &flags).note("flags", flags);
    ASK(cuStreamCreateWithPriority, " -100", &high, 0, -100);
    ASK(cuStreamGetPriority, "", high, &priority).note("priority", priority);
    ASK(cuStreamCreateWithPriority, " 100", &high, 0, 100);
    d.cuStreamGetPriority(high, &priority);
    note("priority", priority);
    ASK(cuStreamGetPriority, "(null stream)", nullptr, &priority).note("priority", priority);
    ASK(cuStreamGetCtx, "", s, &of).note("the primary one", of == context());
    ASK(cuStreamGetId, "(null stream)", nullptr, &id).note("id", id);
    ASK(cuStreamGetId, "(per thread)", CU_STREAM_PER_THREAD, &id).note("id", id);
    ASK(cuStreamQuery, "(idle)", s);
    ASK(cuStreamQuery, "(null stream)", nullptr);
    ASK(cuStreamSynchronize, "(per thread)", CU_STREAM_PER_THREAD);
    ASK(cuStreamDestroy, "(null stream)", nullptr);
    ASK(cuStreamDestroy, "(legacy)", CU_STREAM_LEGACY);
    ASK(cuStreamWaitEvent, "(null event)", s, nullptr, 0);
    CUevent event = MAKE(cuEventCreate, 0);
    ASK(cuStreamWaitEvent, "(never recorded)", s, event, 0);
    ASK(cuStreamWaitEvent, "(flags 2)", s, event, 2);
    ASK(cuLaunchHostFunc, "(null)", s, nullptr, nullptr);
    static CUresult inside[6];
    static CUevent inner_event = nullptr;
    inner_event = event;
    ASK(
        cuLaunchHostFunc, "", s,
        [](void *) {
            CUdeviceptr p = 0;
            CUcontext current = nullptr;
            int count = 0;
            inside[0] = d.cuMemAlloc(&p, 16);
            inside[1] = d.cuCtxGetCurrent(&current);
            inside[2] = d.cuDeviceGetCount(&count);
            inside[3] = d.cuEventQuery(inner_event);
            inside[4] = d.cuDriverGetVersion(&count);
            inside[5] = d.cuStreamQuery(nullptr);
        },
        nullptr);
    d.cuStreamSynchronize(s);
    ask("inside: cuMemAlloc", inside[0]);
    ask("inside: cuCtxGetCurrent", inside[1]);
    ask("inside: cuDeviceGetCount", inside[2]);
    ask("inside: cuEventQuery", inside[3]);
    ask("inside: cuDriverGetVersion", inside[4]);
    ask("inside: cuStreamQuery", inside[5]);
    ASK(cuStreamAddCallback, " flags 1", s, [](CUstream, CUresult, void *) {}, nullptr, 1);
    ASK(cuStreamAddCallback, "(null)", s, nullptr, nullptr, 0);
    CUdeviceptr word = MAKE(cuMemAlloc, 64);
    d.cuMemsetD8(word, 0, 64);
    ASK(cuStreamWriteValue32, "", s, word, 5, 0);
    ASK(cuStreamWriteValue32, " unaligned", s, word + 1, 5, 0);
    ASK(cuStreamWriteValue32, " flags 0x80", s, word, 5, 0x80);
    ASK(cuStreamWriteValue32, " of garbage", s, 0x1234560, 5, 0);
    ASK(cuStreamWaitValue32, " satisfied", s, word, 5, CU_STREAM_WAIT_VALUE_EQ);
    ASK(cuStreamWaitValue32, " flags 0x10", s, word, 5, 0x10);
    ASK(cuStreamBatchMemOp, " of 0", s, 0, nullptr, 0);
    CUstreamBatchMemOpParams op{};
    op.operation = static_cast<CUstreamBatchMemOpType>(77);
    ASK(cuStreamBatchMemOp, " operation 77", s, 1, &op, 0);
    ASK(cuStreamSynchronize, "", s);
    CUlaunchAttributeValue value{};
    ASK(cuStreamGetAttribute, " priority", s, static_cast<CUstreamAttrID>(8), &value);
    ASK(cuStreamGetAttribute, " 77", s, static_cast<CUstreamAttrID>(77), &value);
    ASK(cuStreamGetAttribute, " synchronization policy", s, static_cast<CUstreamAttrID>(3), &value);
    ASK(cuStreamCopyAttributes, "", high, s);
    ASK(cuStreamDestroy, "", s);
    d.cuStreamDestroy(high);
    d.cuEventDestroy(event);
    d.cuMemFree(word);
}

SECTION("events", start) {
    CUevent a = nullptr;
    float ms = -1;
    ASK(cuEventCreate, "(null)", nullptr, 0);
    ASK(cuEventCreate, " flags 0x80", &a, 0x80);
    d.cuEventCreate(&a, 0);
    CUevent b = MAKE(cuEventCreate, 0);
    CUevent untimed = MAKE(cuEventCreate, CU_EVENT_DISABLE_TIMING);
    ASK(cuEventQuery, ", never recorded", a);
    ASK(cuEventSynchronize, ", never recorded", a);
    ASK(cuEventElapsedTime, ", never recorded", &ms, a, b);
    ASK(cuEventRecord, "", a, nullptr);
    ASK(cuEventElapsedTime, ", one never recorded", &ms, a, b);
    ASK(cuEventRecord, " untimed", untimed, nullptr);
    d.cuCtxSynchronize();
    ASK(cuEventQuery, "", a);
    ASK(cuEventElapsedTime, ", untimed", &ms, a, untimed);
    ASK(cuEventElapsedTime, " of itself", &ms, a, a).note("milliseconds, times 1000", ms * 1000);
    ASK(cuEventElapsedTime, "(null)", nullptr, a, a);
    ASK(cuEventRecord, "(null)", nullptr, nullptr);
    ASK(cuEventRecordWithFlags, " 2", a, nullptr, 2);
    ASK(cuEventRecordWithFlags, " external, no capture", a, nullptr, CU_EVENT_RECORD_EXTERNAL);
    ASK(cuEventQuery, "(null)", nullptr);
    ASK(cuEventDestroy, "(null)", nullptr);
    CUcontext other = nullptr;
    ASK(cuCtxCreate_v2, "", &other, 0, 0);
    CUstream foreign = MAKE(cuStreamCreate, 0);
    ASK(cuEventRecord, " on another context's stream", a, foreign);
    ASK(cuStreamWaitEvent, " on another context's stream", foreign, a, 0);
    CUdeviceptr p = 0;
    ASK(cuMemAlloc, " in the other context", &p, 64);
    d.cuCtxSetCurrent(context());
    ASK(cuMemsetD8, " of the other context's memory", p, 0, 64);
    ASK(cuMemFree, " of the other context's memory", p);
    ASK(cuStreamSynchronize, " of the other context's stream", foreign);
    ASK(cuStreamDestroy, " of the other context's stream", foreign);
    d.cuCtxDestroy(other);
    ASK(cuEventDestroy, "", a);
    d.cuEventDestroy(b);
    d.cuEventDestroy(untimed);
}

SECTION("no_context", start) {
    CUmodule module = nullptr, second = nullptr;
    CUfunction function = nullptr;
    CUstream s = MAKE(cuStreamCreate, 0);
    CUevent e = MAKE(cuEventCreate, 0);
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    void *pinned = MAKE(cuMemHostAlloc, 4096, 0);
    ASK(cuModuleLoadData, "", &module, ptx);
    ASK(cuModuleGetFunction, "", &function, module, "empty");
    d.cuCtxSetCurrent(nullptr);
    CUdeviceptr q = 0;
    void *h = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUstream other = nullptr;
    CUevent event = nullptr;
    std::size_t bytes = 0;
    ASK(cuMemAlloc, "", &q, 16);
    ASK(cuMemAllocManaged, "", &q, 16, CU_MEM_ATTACH_GLOBAL);
    ASK(cuMemAllocHost, "", &h, 16);
    ASK(cuMemHostAlloc, "", &h, 16, 0);
    ASK(cuMemHostRegister, "", &bytes, sizeof bytes, 0);
    ASK(cuMemGetInfo, "", &bytes, &bytes);
    ASK(cuMemHostGetDevicePointer, "", &q, pinned, 0);
    ASK(cuMemGetAddressRange, "", &q, &bytes, p);
    ASK(cuPointerGetAttribute, "(DEVICE_POINTER)", &q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p);
    unsigned int type = 0;
    ASK(cuPointerGetAttribute, "(MEMORY_TYPE)", &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    void *output = &q;
    ASK(cuPointerGetAttributes, "(DEVICE_POINTER)", 1, &attribute, &output, p);
    note("device pointer", q);
    ASK(cuStreamCreate, "", &other, 0);
    ASK(cuEventCreate, "", &event, 0);
    ASK(cuModuleLoadData, "", &second, ptx);
    ASK(cuModuleGetFunction, "", &function, module, "empty");
    ASK(cuModuleGetGlobal, "", &q, &bytes, module, "counter");
    ASK(cuStreamQuery, "(null stream)", nullptr);
    ASK(cuStreamSynchronize, "(null stream)", nullptr);
    ASK(cuStreamQuery, "(per thread)", CU_STREAM_PER_THREAD);
    ASK(cuEventRecord, "(e, s)", e, s);
    ASK(cuEventRecord, "(e, null stream)", e, nullptr);
    ask("cuEventQuery", d.cuEventSynchronize(e));
    ASK(cuStreamSynchronize, "", s);
    ASK(cuMemcpyHtoDAsync, "", p, pinned, 16, s);
    ASK(cuMemcpyHtoD, "", p, pinned, 16);
    ASK(cuMemsetD8Async, "", p, 0, 16, s);
    ASK(cuMemsetD8, "", p, 0, 16);
    ASK(cuLaunchKernel, "", function, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr);
    ASK(cuLibraryLoadData, "", &library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    ASK(cuLibraryGetKernel, "", &kernel, library, "empty");
    ASK(cuLaunchKernel, " of a CUkernel", reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0,
        s, nullptr, nullptr);
    ASK(cuKernelGetFunction, "", &function, kernel);
    ASK(cuLibraryGetGlobal, "", &q, &bytes, library, "counter");
    ASK(cuLibraryGetModule, "", &second, library);
    ASK(cuLibraryUnload, "", library);
    ASK(cuGraphCreate, "", &graph, 0);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    ASK(cuGraphDestroy, "", graph);
    ASK(cuStreamBeginCapture, "", s, CU_STREAM_CAPTURE_MODE_RELAXED);
    ASK(cuStreamEndCapture, "", s, &graph);
    d.cuGraphDestroy(graph);
    CUipcMemHandle handle{};
    ASK(cuIpcGetMemHandle, "", &handle, p);
    ASK(cuIpcCloseMemHandle, "(own)", p);
    ASK(cuMemAllocAsync, "", &q, 64, s);
    ASK(cuMemFreeAsync, "", q, s);
    ASK(cuStreamSynchronize, "", s);
    ASK(cuMemFreeHost, "", pinned);
    ASK(cuMemFree, "", p);
    ASK(cuStreamDestroy, "", s);
    ASK(cuEventDestroy, "", e);
    ASK(cuModuleUnload, "", module);
}

SECTION_ONCE("modules", start) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr p = 0;
    std::size_t bytes = 0;
    const char garbage[256] = "this is no image";
    const char only_target[256] = ".target sm_70\n.address_size 64\n";
    const char newer[256] = ".version 99.0\n.target sm_70\n.address_size 64\n";
    const char bad[256] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { nonsense; }\n";
    ASK(cuModuleLoadData, "(null)", &module, nullptr);
    ASK(cuModuleLoadData, "(garbage)", &module, garbage);
    ASK(cuModuleLoadData, "(empty)", &module, "");
    ASK(cuModuleLoadData, "(.target first)", &module, only_target);
    ASK(cuModuleLoadData, "(version 99)", &module, newer);
    ASK(cuModuleLoadData, "(bad syntax)", &module, bad);
    ASK(cuModuleLoad, "(missing file)", &module, "/nonexistent/file.ptx");
    ASK(cuModuleLoadFatBinary, "(garbage)", &module, garbage);
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    ASK(cuModuleLoadDataEx, "(bad syntax)", &module, bad, 2, options, values);
    note("log is written", std::strlen(log) > 0);
    note("log size is written back", reinterpret_cast<std::intptr_t>(values[1]) != sizeof log);
    CUjit_option unknown[] = {static_cast<CUjit_option>(999)};
    ASK(cuModuleLoadDataEx, "(option 999)", &module, ptx, 1, unknown, values);
    ASK(cuModuleLoadData, "", &module, ptx);
    ASK(cuModuleGetFunction, "(missing)", &function, module, "nothing");
    ASK(cuModuleGetFunction, "(null name)", &function, module, nullptr);
    ASK(cuModuleGetFunction, "(empty name)", &function, module, "");
    ASK(cuModuleGetFunction, "", &function, module, "add");
    ASK(cuModuleGetGlobal, "", &p, &bytes, module, "table").note("size", bytes);
    ASK(cuModuleGetGlobal, "(missing)", &p, &bytes, module, "nothing");
    ASK(cuModuleGetGlobal, "(null, null)", nullptr, nullptr, module, "table");
    ASK(cuMemFree, " of a global", p);
    unsigned int count = 0;
    ASK(cuModuleGetFunctionCount, "", &count, module).note("functions", count);
    std::size_t offset = 77, size = 77;
    CUfunction limited = MAKE(cuModuleGetFunction, module, "limited");
    for (std::size_t i = 0; i < 4; ++i) {
        ASK(cuFuncGetParamInfo, "", limited, i, &offset, &size).note("offset", offset);
        note("size", size);
    }
    ASK(cuFuncGetParamInfo, "(size null)", limited, 0, &offset, nullptr);
    const char *name = nullptr;
    ASK(cuFuncGetName, "", &name, function).note("name", name);
    ASK(cuFuncGetName, "(null function)", &name, nullptr);
    ASK(cuFuncGetName, "(null)", nullptr, function);
    int value = 0;
    for (int i = 0; i < 20; ++i) {
        const std::string what = "function attribute " + std::to_string(i);
        ask(what, d.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(i), limited));
    }
    d.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, limited);
    note("max threads of limited", value);
    d.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    note("max threads of add", value);
    ASK(cuFuncSetAttribute, "(dynamic shared 100 KiB)", function,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10);
    ASK(cuFuncSetAttribute, "(dynamic shared 1 MiB)", function,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20);
    ASK(cuFuncSetAttribute, "(max threads)", function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 32);
    CUmodule of = nullptr;
    ASK(cuFuncGetModule, "", &of, function).note("the module", of == module);
    ASK(cuFuncIsLoaded, "", reinterpret_cast<CUfunctionLoadingState *>(&value), function);
    CUmoduleLoadingMode mode{};
    ASK(cuModuleGetLoadingMode, "", &mode).note("mode", mode);
    ASK(cuModuleUnload, "", module);
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    ASK(cuLibraryLoadData, "(garbage)", &library, garbage, nullptr, nullptr, 0, nullptr, nullptr,
        0);
    ASK(cuLibraryLoadData, "", &library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    ASK(cuLibraryGetKernel, "(missing)", &kernel, library, "nothing");
    ASK(cuLibraryGetKernel, "", &kernel, library, "add");
    ASK(cuKernelGetName, "", &name, kernel).note("name", name);
    ASK(cuLibraryGetKernelCount, "", &count, library).note("kernels", count);
    ASK(cuKernelGetParamInfo, "", kernel, 1, &offset, &size).note("offset", offset);
    ASK(cuKernelGetAttribute, "", &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0);
    ASK(cuKernelGetAttribute, "(dev 99)", &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel,
        99);
    ASK(cuLibraryGetManaged, "(counter)", &p, &bytes, library, "counter");
    ASK(cuLibraryUnload, "", library);
    CUlinkState link = nullptr;
    ASK(cuLinkCreate, "", 0, nullptr, nullptr, &link);
    ASK(cuLinkAddData, "(garbage)", link, CU_JIT_INPUT_PTX, const_cast<char *>(garbage),
        sizeof garbage, "x", 0, nullptr, nullptr);
    ASK(cuLinkDestroy, "", link);
    ASK(cuLinkCreate, "", 0, nullptr, nullptr, &link);
    ASK(cuLinkAddData, "", link, CU_JIT_INPUT_PTX, const_cast<char *>(ptx), sizeof ptx, "x", 0,
        nullptr, nullptr);
    void *image = nullptr;
    ASK(cuLinkComplete, "", link, &image, &bytes);
    ask("cuModuleLoadData of what was linked",
        image ? d.cuModuleLoadData(&module, image) : CUDA_ERROR_UNKNOWN);
    ASK(cuLinkDestroy, "", link);
}

SECTION("launches", start) {
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    CUfunction add = MAKE(cuModuleGetFunction, module, "add");
    CUfunction limited = MAKE(cuModuleGetFunction, module, "limited");
    CUfunction empty = MAKE(cuModuleGetFunction, module, "empty");
    CUdeviceptr p = 0;
    unsigned int n = 3;
    void *parameters[] = {&p, &n};
    void *with_null[] = {&p, nullptr};
    const auto launch = [&](const char *what, CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                            unsigned bx, unsigned by, unsigned bz, unsigned shared, void **params,
                            void **extra) {
        ask(what, d.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, nullptr, params, extra));
    };
    launch("launch", add, 1, 1, 1, 1, 1, 1, 0, parameters, nullptr);
    launch("launch: null function", nullptr, 1, 1, 1, 1, 1, 1, 0, parameters, nullptr);
    launch("launch: grid 0", add, 0, 1, 1, 1, 1, 1, 0, parameters, nullptr);
    launch("launch: block 0", add, 1, 1, 1, 1, 0, 1, 0, parameters, nullptr);
    launch("launch: block 2048", add, 1, 1, 1, 2048, 1, 1, 0, parameters, nullptr);
    launch("launch: block 1x1x65", add, 1, 1, 1, 1, 1, 65, 0, parameters, nullptr);
    launch("launch: block 32x32x2", add, 1, 1, 1, 32, 32, 2, 0, parameters, nullptr);
    launch("launch: grid y 65536", add, 1, 65536, 1, 1, 1, 1, 0, parameters, nullptr);
    launch("launch: shared 49153", add, 1, 1, 1, 1, 1, 1, 49153, parameters, nullptr);
    launch("launch: shared 1 MiB", add, 1, 1, 1, 1, 1, 1, 1 << 20, parameters, nullptr);
    launch("launch: no parameters given", add, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr);
    launch("launch: null in the parameters", add, 1, 1, 1, 1, 1, 1, 0, with_null, nullptr);
    unsigned char c[20] = {}, a = 0;
    double b = 0;
    void *limited_parameters[] = {&a, &b, c};
    launch("launch: block over .maxntid", limited, 1, 1, 1, 65, 1, 1, 0, limited_parameters,
           nullptr);
    launch("launch: block at .maxntid", limited, 1, 1, 1, 64, 1, 1, 0, limited_parameters, nullptr);
    unsigned char packed[12] = {};
    std::size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    launch("launch: packed buffer", add, 1, 1, 1, 1, 1, 1, 0, nullptr, extra);
    size = 8;
    launch("launch: packed buffer too short", add, 1, 1, 1, 1, 1, 1, 0, nullptr, extra);
    size = 16;
    launch("launch: packed buffer too long", add, 1, 1, 1, 1, 1, 1, 0, nullptr, extra);
    size = 12;
    launch("launch: both", add, 1, 1, 1, 1, 1, 1, 0, parameters, extra);
    ASK(cuCtxSynchronize, "");
    ASK(cuLaunchCooperativeKernel, "", empty, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr);
    ASK(cuLaunchCooperativeKernel, ", grid 1000000", empty, 1000000, 1, 1, 1024, 1, 1, 0, nullptr,
        nullptr);
    auto config = launch_of<CUlaunchConfig>(1);
    ASK(cuLaunchKernelEx, "", &config, empty, nullptr, nullptr);
    ASK(cuLaunchKernelEx, "(null)", nullptr, empty, nullptr, nullptr);
    CUlaunchAttribute attribute{};
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = static_cast<CUlaunchAttributeID>(99);
    ASK(cuLaunchKernelEx, " attribute 99", &config, empty, nullptr, nullptr);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 3;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    ASK(cuLaunchKernelEx, " cluster 3, grid 1", &config, empty, nullptr, nullptr);
    attribute.value.clusterDim.x = 16;
    config.gridDimX = 16;
    ASK(cuLaunchKernelEx, " cluster 16", &config, empty, nullptr, nullptr);
    attribute.value.clusterDim.x = 0;
    ASK(cuLaunchKernelEx, " cluster 0", &config, empty, nullptr, nullptr);
    int blocks = 0;
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessor, "", &blocks, empty, 256, 0);
    note("blocks of 256", blocks);
    d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 32, 0);
    note("blocks of 32", blocks);
    d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 48 << 10);
    note("blocks of 256 with 48 KiB", blocks);
    ask("occupancy, block 0", d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 0, 0));
    ask("occupancy, block 2048",
        d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 2048, 0));
    int min_grid = 0, block = 0;
    ASK(cuOccupancyMaxPotentialBlockSize, "", &min_grid, &block, empty, nullptr, 0, 0);
    note("grid", min_grid);
    note("block", block);
    CUcontext other = MAKE(cuCtxCreate_v2, 0, 0);
    CUstream foreign = MAKE(cuStreamCreate, 0);
    ask("launch into another context's stream",
        d.cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, foreign, nullptr, nullptr));
    ask("launch with another context current",
        d.cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    d.cuCtxDestroy(other);
}

SECTION_ONCE("resolution") {
    d.cuInit(0);
    int version = 0;
    d.cuDriverGetVersion(&version);
    const auto look_up = [&](const char *name, int requested, cuuint64_t flags) {
        void *pointer = reinterpret_cast<void *>(1);
        auto result = static_cast<CUdriverProcAddressQueryResult>(77);
        const std::string what = std::string(name ? name : "(null)") + " " +
                                 std::to_string(requested) + " flags " + std::to_string(flags);
        ask(what, d.cuGetProcAddress_v2(name, &pointer, requested, flags, &result));
        note("result", result);
        note("pointer", pointer == nullptr                       ? "null"
                        : pointer == reinterpret_cast<void *>(1) ? "untouched"
                                                                 : "set");
    };
    look_up("cuMemAlloc", 12000, 0);
    look_up("cuMemAlloc", 2000, 0);
    look_up("cuMemAlloc", 0, 0);
    look_up("cuMemAlloc", 1000, 0);
    look_up("cuMemAlloc", 99000, 0);
    look_up("cuMemAlloc_v2", 12000, 0);
    look_up("cuMemcpyHtoD", 12000, 1);
    look_up("cuMemcpyHtoD", 12000, 2);
    look_up("cuMemcpyHtoD", 12000, 3);
    look_up("cuMemcpyHtoD", 12000, 4);
    look_up("cuMemcpyHtoD", 12000, 1 << 20);
    look_up("cuMemcpyHtoD_v2_ptds", 12000, 0);
    look_up("cuGreenCtxCreate", 12000, 0);
    look_up("cuGreenCtxCreate", 12040, 0);
    look_up("cuGraphAddNode", 12020, 0);
    look_up("cuGraphAddNode", 12010, 0);
    look_up("cuNothing", 12000, 0);
    look_up("cuGetProcAddress", 11030, 0);
    look_up("cuGetProcAddress", 12000, 0);
    void *pointer = reinterpret_cast<void *>(1);
    ASK(cuGetProcAddress_v2, " without a result", "cuNothing", &pointer, 12000, 0, nullptr);
    note("pointer is null", pointer == nullptr);
    ASK(cuGetProcAddress_v2, " without a result, too old", "cuGreenCtxCreate", &pointer, 12000, 0,
        nullptr);
    pointer = reinterpret_cast<void *>(1);
    using First = CUresult (*)(const char *, void **, int, cuuint64_t);
    void *first = nullptr;
    CUdriverProcAddressQueryResult unused{};
    d.cuGetProcAddress_v2("cuGetProcAddress", &first, 11030, 0, &unused);
    if (first) {
        const auto get = reinterpret_cast<First>(first);
        ask("first ABI: cuMemAlloc 12000", get("cuMemAlloc", &pointer, 12000, 0));
        ask("first ABI: cuNothing", get("cuNothing", &pointer, 12000, 0));
        note("pointer is null", pointer == nullptr);
        ask("first ABI: cuGreenCtxCreate 12000", get("cuGreenCtxCreate", &pointer, 12000, 0));
        ask("first ABI: flags 64", get("cuMemAlloc", &pointer, 12000, 64));
    }
    // Shows which ABI was returned: its pointer equals that of an export.
    const struct {
        const char *name;
        int version;
        void *expected;
    } all[] = {
        {"cuMemAlloc", 3010,
         reinterpret_cast<void *>(trace::function_of<cushim::entry::cuMemAlloc_v1>())},
        {"cuMemAlloc", 3020,
         reinterpret_cast<void *>(trace::function_of<cushim::entry::cuMemAlloc_v2>())},
        {"cuCtxCreate", 11030,
         reinterpret_cast<void *>(trace::function_of<cushim::entry::cuCtxCreate_v2>())},
        {"cuCtxCreate", 11040,
         reinterpret_cast<void *>(trace::function_of<cushim::entry::cuCtxCreate_v3>())},
    };
    for (const auto &each : all) {
        pointer = nullptr;
        d.cuGetProcAddress_v2(each.name, &pointer, each.version, 0, &unused);
        const std::string what =
            std::string(each.name) + " " + std::to_string(each.version) + " is that export";
        note(what, pointer == each.expected);
    }
}

} // namespace record::QUESTIONS
