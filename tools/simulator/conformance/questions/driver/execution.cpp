// Streams, events, modules, launches, resolution of names.
#include "../../record.hpp"
#include "../../trace.hpp"

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

void streams() {
    if (!start()) {
        return;
    }
    CUstream s = nullptr, high = nullptr;
    unsigned int flags = 99;
    int priority = 99;
    unsigned long long id = 0;
    CUcontext of = nullptr;
    ask("cuStreamCreate(null)", d.cuStreamCreate(nullptr, 0));
    ask("cuStreamCreate flags 2", d.cuStreamCreate(&s, 2));
    ask("cuStreamCreate non-blocking", d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ask("cuStreamGetFlags", d.cuStreamGetFlags(s, &flags));
    note("flags", flags);
    ask("cuStreamGetFlags(null stream)", d.cuStreamGetFlags(nullptr, &flags));
    note("flags", flags);
    ask("cuStreamGetFlags(per thread)", d.cuStreamGetFlags(CU_STREAM_PER_THREAD, &flags));
    note("flags", flags);
    ask("cuStreamCreateWithPriority -100", d.cuStreamCreateWithPriority(&high, 0, -100));
    ask("cuStreamGetPriority", d.cuStreamGetPriority(high, &priority));
    note("priority", priority);
    ask("cuStreamCreateWithPriority 100", d.cuStreamCreateWithPriority(&high, 0, 100));
    d.cuStreamGetPriority(high, &priority);
    note("priority", priority);
    ask("cuStreamGetPriority(null stream)", d.cuStreamGetPriority(nullptr, &priority));
    note("priority", priority);
    ask("cuStreamGetCtx", d.cuStreamGetCtx(s, &of));
    note("the primary one", of == context());
    ask("cuStreamGetId(null stream)", d.cuStreamGetId(nullptr, &id));
    note("id", static_cast<long long>(id));
    ask("cuStreamGetId(per thread)", d.cuStreamGetId(CU_STREAM_PER_THREAD, &id));
    note("id", static_cast<long long>(id));
    ask("cuStreamQuery(idle)", d.cuStreamQuery(s));
    ask("cuStreamQuery(null stream)", d.cuStreamQuery(nullptr));
    ask("cuStreamSynchronize(per thread)", d.cuStreamSynchronize(CU_STREAM_PER_THREAD));
    ask("cuStreamDestroy(null stream)", d.cuStreamDestroy(nullptr));
    ask("cuStreamDestroy(legacy)", d.cuStreamDestroy(CU_STREAM_LEGACY));
    ask("cuStreamWaitEvent(null event)", d.cuStreamWaitEvent(s, nullptr, 0));
    CUevent event = nullptr;
    d.cuEventCreate(&event, 0);
    ask("cuStreamWaitEvent(never recorded)", d.cuStreamWaitEvent(s, event, 0));
    ask("cuStreamWaitEvent(flags 2)", d.cuStreamWaitEvent(s, event, 2));
    ask("cuLaunchHostFunc(null)", d.cuLaunchHostFunc(s, nullptr, nullptr));
    static CUresult inside[6];
    static CUevent inner_event = nullptr;
    inner_event = event;
    ask("cuLaunchHostFunc", d.cuLaunchHostFunc(
                                s,
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
                                nullptr));
    d.cuStreamSynchronize(s);
    ask("inside: cuMemAlloc", inside[0]);
    ask("inside: cuCtxGetCurrent", inside[1]);
    ask("inside: cuDeviceGetCount", inside[2]);
    ask("inside: cuEventQuery", inside[3]);
    ask("inside: cuDriverGetVersion", inside[4]);
    ask("inside: cuStreamQuery", inside[5]);
    ask("cuStreamAddCallback flags 1",
        d.cuStreamAddCallback(s, [](CUstream, CUresult, void *) {}, nullptr, 1));
    ask("cuStreamAddCallback(null)", d.cuStreamAddCallback(s, nullptr, nullptr, 0));
    CUdeviceptr word = 0;
    d.cuMemAlloc(&word, 64);
    d.cuMemsetD8(word, 0, 64);
    ask("cuStreamWriteValue32", d.cuStreamWriteValue32(s, word, 5, 0));
    ask("cuStreamWriteValue32 unaligned", d.cuStreamWriteValue32(s, word + 1, 5, 0));
    ask("cuStreamWriteValue32 flags 0x80", d.cuStreamWriteValue32(s, word, 5, 0x80));
    ask("cuStreamWriteValue32 of garbage", d.cuStreamWriteValue32(s, 0x1234560, 5, 0));
    ask("cuStreamWaitValue32 satisfied",
        d.cuStreamWaitValue32(s, word, 5, CU_STREAM_WAIT_VALUE_EQ));
    ask("cuStreamWaitValue32 flags 0x10", d.cuStreamWaitValue32(s, word, 5, 0x10));
    ask("cuStreamBatchMemOp of 0", d.cuStreamBatchMemOp(s, 0, nullptr, 0));
    CUstreamBatchMemOpParams op{};
    op.operation = static_cast<CUstreamBatchMemOpType>(77);
    ask("cuStreamBatchMemOp operation 77", d.cuStreamBatchMemOp(s, 1, &op, 0));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    CUlaunchAttributeValue value{};
    ask("cuStreamGetAttribute priority",
        d.cuStreamGetAttribute(s, static_cast<CUstreamAttrID>(8), &value));
    ask("cuStreamGetAttribute 77",
        d.cuStreamGetAttribute(s, static_cast<CUstreamAttrID>(77), &value));
    ask("cuStreamGetAttribute synchronization policy",
        d.cuStreamGetAttribute(s, static_cast<CUstreamAttrID>(3), &value));
    ask("cuStreamCopyAttributes", d.cuStreamCopyAttributes(high, s));
    ask("cuStreamDestroy", d.cuStreamDestroy(s));
    d.cuStreamDestroy(high);
    d.cuEventDestroy(event);
    d.cuMemFree(word);
}

void events() {
    if (!start()) {
        return;
    }
    CUevent a = nullptr, b = nullptr, untimed = nullptr;
    float ms = -1;
    ask("cuEventCreate(null)", d.cuEventCreate(nullptr, 0));
    ask("cuEventCreate flags 0x80", d.cuEventCreate(&a, 0x80));
    d.cuEventCreate(&a, 0);
    d.cuEventCreate(&b, 0);
    d.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING);
    ask("cuEventQuery, never recorded", d.cuEventQuery(a));
    ask("cuEventSynchronize, never recorded", d.cuEventSynchronize(a));
    ask("cuEventElapsedTime, never recorded", d.cuEventElapsedTime(&ms, a, b));
    ask("cuEventRecord", d.cuEventRecord(a, nullptr));
    ask("cuEventElapsedTime, one never recorded", d.cuEventElapsedTime(&ms, a, b));
    ask("cuEventRecord untimed", d.cuEventRecord(untimed, nullptr));
    d.cuCtxSynchronize();
    ask("cuEventQuery", d.cuEventQuery(a));
    ask("cuEventElapsedTime, untimed", d.cuEventElapsedTime(&ms, a, untimed));
    ask("cuEventElapsedTime of itself", d.cuEventElapsedTime(&ms, a, a));
    note("milliseconds, times 1000", static_cast<long long>(ms * 1000));
    ask("cuEventElapsedTime(null)", d.cuEventElapsedTime(nullptr, a, a));
    ask("cuEventRecord(null)", d.cuEventRecord(nullptr, nullptr));
    ask("cuEventRecordWithFlags 2", d.cuEventRecordWithFlags(a, nullptr, 2));
    ask("cuEventRecordWithFlags external, no capture",
        d.cuEventRecordWithFlags(a, nullptr, CU_EVENT_RECORD_EXTERNAL));
    ask("cuEventQuery(null)", d.cuEventQuery(nullptr));
    ask("cuEventDestroy(null)", d.cuEventDestroy(nullptr));
    CUcontext other = nullptr;
    CUstream foreign = nullptr;
    ask("cuCtxCreate_v2", d.cuCtxCreate_v2(&other, 0, 0));
    d.cuStreamCreate(&foreign, 0);
    ask("cuEventRecord on another context's stream", d.cuEventRecord(a, foreign));
    ask("cuStreamWaitEvent on another context's stream", d.cuStreamWaitEvent(foreign, a, 0));
    CUdeviceptr p = 0;
    ask("cuMemAlloc in the other context", d.cuMemAlloc(&p, 64));
    d.cuCtxSetCurrent(context());
    ask("cuMemsetD8 of the other context's memory", d.cuMemsetD8(p, 0, 64));
    ask("cuMemFree of the other context's memory", d.cuMemFree(p));
    ask("cuStreamSynchronize of the other context's stream", d.cuStreamSynchronize(foreign));
    ask("cuStreamDestroy of the other context's stream", d.cuStreamDestroy(foreign));
    d.cuCtxDestroy(other);
    ask("cuEventDestroy", d.cuEventDestroy(a));
    d.cuEventDestroy(b);
    d.cuEventDestroy(untimed);
}

void no_context() {
    if (!start()) {
        return;
    }
    CUstream s = nullptr;
    CUevent e = nullptr;
    CUdeviceptr p = 0;
    void *pinned = nullptr;
    CUmodule module = nullptr, second = nullptr;
    CUfunction function = nullptr;
    d.cuStreamCreate(&s, 0);
    d.cuEventCreate(&e, 0);
    d.cuMemAlloc(&p, 4096);
    d.cuMemHostAlloc(&pinned, 4096, 0);
    ask("cuModuleLoadData", d.cuModuleLoadData(&module, ptx));
    ask("cuModuleGetFunction", d.cuModuleGetFunction(&function, module, "empty"));
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
    ask("cuMemAlloc", d.cuMemAlloc(&q, 16));
    ask("cuMemAllocManaged", d.cuMemAllocManaged(&q, 16, CU_MEM_ATTACH_GLOBAL));
    ask("cuMemAllocHost", d.cuMemAllocHost(&h, 16));
    ask("cuMemHostAlloc", d.cuMemHostAlloc(&h, 16, 0));
    ask("cuMemHostRegister", d.cuMemHostRegister(&bytes, sizeof bytes, 0));
    ask("cuMemGetInfo", d.cuMemGetInfo(&bytes, &bytes));
    ask("cuMemHostGetDevicePointer", d.cuMemHostGetDevicePointer(&q, pinned, 0));
    ask("cuMemGetAddressRange", d.cuMemGetAddressRange(&q, &bytes, p));
    ask("cuPointerGetAttribute(DEVICE_POINTER)",
        d.cuPointerGetAttribute(&q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p));
    unsigned int type = 0;
    ask("cuPointerGetAttribute(MEMORY_TYPE)",
        d.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    void *output = &q;
    ask("cuPointerGetAttributes(DEVICE_POINTER)",
        d.cuPointerGetAttributes(1, &attribute, &output, p));
    note("device pointer", static_cast<long long>(q));
    ask("cuStreamCreate", d.cuStreamCreate(&other, 0));
    ask("cuEventCreate", d.cuEventCreate(&event, 0));
    ask("cuModuleLoadData", d.cuModuleLoadData(&second, ptx));
    ask("cuModuleGetFunction", d.cuModuleGetFunction(&function, module, "empty"));
    ask("cuModuleGetGlobal", d.cuModuleGetGlobal(&q, &bytes, module, "counter"));
    ask("cuStreamQuery(null stream)", d.cuStreamQuery(nullptr));
    ask("cuStreamSynchronize(null stream)", d.cuStreamSynchronize(nullptr));
    ask("cuStreamQuery(per thread)", d.cuStreamQuery(CU_STREAM_PER_THREAD));
    ask("cuEventRecord(e, s)", d.cuEventRecord(e, s));
    ask("cuEventRecord(e, null stream)", d.cuEventRecord(e, nullptr));
    ask("cuEventQuery", d.cuEventSynchronize(e));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    ask("cuMemcpyHtoDAsync", d.cuMemcpyHtoDAsync(p, pinned, 16, s));
    ask("cuMemcpyHtoD", d.cuMemcpyHtoD(p, pinned, 16));
    ask("cuMemsetD8Async", d.cuMemsetD8Async(p, 0, 16, s));
    ask("cuMemsetD8", d.cuMemsetD8(p, 0, 16));
    ask("cuLaunchKernel", d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr));
    ask("cuLibraryLoadData",
        d.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    ask("cuLibraryGetKernel", d.cuLibraryGetKernel(&kernel, library, "empty"));
    ask("cuLaunchKernel of a CUkernel", d.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1,
                                                         1, 1, 1, 1, 0, s, nullptr, nullptr));
    ask("cuKernelGetFunction", d.cuKernelGetFunction(&function, kernel));
    ask("cuLibraryGetGlobal", d.cuLibraryGetGlobal(&q, &bytes, library, "counter"));
    ask("cuLibraryGetModule", d.cuLibraryGetModule(&second, library));
    ask("cuLibraryUnload", d.cuLibraryUnload(library));
    ask("cuGraphCreate", d.cuGraphCreate(&graph, 0));
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("cuGraphDestroy", d.cuGraphDestroy(graph));
    ask("cuStreamBeginCapture", d.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    ask("cuStreamEndCapture", d.cuStreamEndCapture(s, &graph));
    d.cuGraphDestroy(graph);
    CUipcMemHandle handle{};
    ask("cuIpcGetMemHandle", d.cuIpcGetMemHandle(&handle, p));
    ask("cuIpcCloseMemHandle(own)", d.cuIpcCloseMemHandle(p));
    ask("cuMemAllocAsync", d.cuMemAllocAsync(&q, 64, s));
    ask("cuMemFreeAsync", d.cuMemFreeAsync(q, s));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    ask("cuMemFreeHost", d.cuMemFreeHost(pinned));
    ask("cuMemFree", d.cuMemFree(p));
    ask("cuStreamDestroy", d.cuStreamDestroy(s));
    ask("cuEventDestroy", d.cuEventDestroy(e));
    ask("cuModuleUnload", d.cuModuleUnload(module));
}

void modules() {
    if (!start()) {
        return;
    }
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr p = 0;
    std::size_t bytes = 0;
    const char garbage[256] = "this is no image";
    const char only_target[256] = ".target sm_70\n.address_size 64\n";
    const char newer[256] = ".version 99.0\n.target sm_70\n.address_size 64\n";
    const char bad[256] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { nonsense; }\n";
    ask("cuModuleLoadData(null)", d.cuModuleLoadData(&module, nullptr));
    ask("cuModuleLoadData(garbage)", d.cuModuleLoadData(&module, garbage));
    ask("cuModuleLoadData(empty)", d.cuModuleLoadData(&module, ""));
    ask("cuModuleLoadData(.target first)", d.cuModuleLoadData(&module, only_target));
    ask("cuModuleLoadData(version 99)", d.cuModuleLoadData(&module, newer));
    ask("cuModuleLoadData(bad syntax)", d.cuModuleLoadData(&module, bad));
    ask("cuModuleLoad(missing file)", d.cuModuleLoad(&module, "/nonexistent/file.ptx"));
    ask("cuModuleLoadFatBinary(garbage)", d.cuModuleLoadFatBinary(&module, garbage));
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    ask("cuModuleLoadDataEx(bad syntax)", d.cuModuleLoadDataEx(&module, bad, 2, options, values));
    note("log is written", std::strlen(log) > 0);
    note("log size is written back", reinterpret_cast<std::intptr_t>(values[1]) != sizeof log);
    CUjit_option unknown[] = {static_cast<CUjit_option>(999)};
    ask("cuModuleLoadDataEx(option 999)", d.cuModuleLoadDataEx(&module, ptx, 1, unknown, values));
    ask("cuModuleLoadData", d.cuModuleLoadData(&module, ptx));
    ask("cuModuleGetFunction(missing)", d.cuModuleGetFunction(&function, module, "nothing"));
    ask("cuModuleGetFunction(null name)", d.cuModuleGetFunction(&function, module, nullptr));
    ask("cuModuleGetFunction(empty name)", d.cuModuleGetFunction(&function, module, ""));
    ask("cuModuleGetFunction", d.cuModuleGetFunction(&function, module, "add"));
    ask("cuModuleGetGlobal", d.cuModuleGetGlobal(&p, &bytes, module, "table"));
    note("size", static_cast<long long>(bytes));
    ask("cuModuleGetGlobal(missing)", d.cuModuleGetGlobal(&p, &bytes, module, "nothing"));
    ask("cuModuleGetGlobal(null, null)", d.cuModuleGetGlobal(nullptr, nullptr, module, "table"));
    ask("cuMemFree of a global", d.cuMemFree(p));
    unsigned int count = 0;
    ask("cuModuleGetFunctionCount", d.cuModuleGetFunctionCount(&count, module));
    note("functions", count);
    std::size_t offset = 77, size = 77;
    CUfunction limited = nullptr;
    d.cuModuleGetFunction(&limited, module, "limited");
    for (std::size_t i = 0; i < 4; ++i) {
        ask("cuFuncGetParamInfo", d.cuFuncGetParamInfo(limited, i, &offset, &size));
        note("offset", static_cast<long long>(offset));
        note("size", static_cast<long long>(size));
    }
    ask("cuFuncGetParamInfo(size null)", d.cuFuncGetParamInfo(limited, 0, &offset, nullptr));
    const char *name = nullptr;
    ask("cuFuncGetName", d.cuFuncGetName(&name, function));
    note("name", name);
    ask("cuFuncGetName(null function)", d.cuFuncGetName(&name, nullptr));
    ask("cuFuncGetName(null)", d.cuFuncGetName(nullptr, function));
    int value = 0;
    for (int i = 0; i < 20; ++i) {
        const std::string what = "function attribute " + std::to_string(i);
        ask(what.c_str(),
            d.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(i), limited));
    }
    d.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, limited);
    note("max threads of limited", value);
    d.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    note("max threads of add", value);
    ask("cuFuncSetAttribute(dynamic shared 100 KiB)",
        d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
    ask("cuFuncSetAttribute(dynamic shared 1 MiB)",
        d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20));
    ask("cuFuncSetAttribute(max threads)",
        d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 32));
    CUmodule of = nullptr;
    ask("cuFuncGetModule", d.cuFuncGetModule(&of, function));
    note("the module", of == module);
    ask("cuFuncIsLoaded",
        d.cuFuncIsLoaded(reinterpret_cast<CUfunctionLoadingState *>(&value), function));
    CUmoduleLoadingMode mode{};
    ask("cuModuleGetLoadingMode", d.cuModuleGetLoadingMode(&mode));
    note("mode", mode);
    ask("cuModuleUnload", d.cuModuleUnload(module));
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    ask("cuLibraryLoadData(garbage)",
        d.cuLibraryLoadData(&library, garbage, nullptr, nullptr, 0, nullptr, nullptr, 0));
    ask("cuLibraryLoadData",
        d.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    ask("cuLibraryGetKernel(missing)", d.cuLibraryGetKernel(&kernel, library, "nothing"));
    ask("cuLibraryGetKernel", d.cuLibraryGetKernel(&kernel, library, "add"));
    ask("cuKernelGetName", d.cuKernelGetName(&name, kernel));
    note("name", name);
    ask("cuLibraryGetKernelCount", d.cuLibraryGetKernelCount(&count, library));
    note("kernels", count);
    ask("cuKernelGetParamInfo", d.cuKernelGetParamInfo(kernel, 1, &offset, &size));
    note("offset", static_cast<long long>(offset));
    ask("cuKernelGetAttribute",
        d.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
    ask("cuKernelGetAttribute(dev 99)",
        d.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 99));
    ask("cuLibraryGetManaged(counter)", d.cuLibraryGetManaged(&p, &bytes, library, "counter"));
    ask("cuLibraryUnload", d.cuLibraryUnload(library));
    CUlinkState link = nullptr;
    ask("cuLinkCreate", d.cuLinkCreate(0, nullptr, nullptr, &link));
    ask("cuLinkAddData(garbage)",
        d.cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char *>(garbage), sizeof garbage, "x", 0,
                        nullptr, nullptr));
    ask("cuLinkDestroy", d.cuLinkDestroy(link));
    ask("cuLinkCreate", d.cuLinkCreate(0, nullptr, nullptr, &link));
    ask("cuLinkAddData", d.cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char *>(ptx),
                                         sizeof ptx, "x", 0, nullptr, nullptr));
    void *image = nullptr;
    ask("cuLinkComplete", d.cuLinkComplete(link, &image, &bytes));
    ask("cuModuleLoadData of what was linked",
        image ? d.cuModuleLoadData(&module, image) : CUDA_ERROR_UNKNOWN);
    ask("cuLinkDestroy", d.cuLinkDestroy(link));
}

void launches() {
    if (!start()) {
        return;
    }
    CUmodule module = nullptr;
    CUfunction add = nullptr, limited = nullptr, empty = nullptr;
    d.cuModuleLoadData(&module, ptx);
    d.cuModuleGetFunction(&add, module, "add");
    d.cuModuleGetFunction(&limited, module, "limited");
    d.cuModuleGetFunction(&empty, module, "empty");
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
    ask("cuCtxSynchronize", d.cuCtxSynchronize());
    ask("cuLaunchCooperativeKernel",
        d.cuLaunchCooperativeKernel(empty, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr));
    ask("cuLaunchCooperativeKernel, grid 1000000",
        d.cuLaunchCooperativeKernel(empty, 1000000, 1, 1, 1024, 1, 1, 0, nullptr, nullptr));
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    ask("cuLaunchKernelEx", d.cuLaunchKernelEx(&config, empty, nullptr, nullptr));
    ask("cuLaunchKernelEx(null)", d.cuLaunchKernelEx(nullptr, empty, nullptr, nullptr));
    CUlaunchAttribute attribute{};
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = static_cast<CUlaunchAttributeID>(99);
    ask("cuLaunchKernelEx attribute 99", d.cuLaunchKernelEx(&config, empty, nullptr, nullptr));
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 3;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    ask("cuLaunchKernelEx cluster 3, grid 1", d.cuLaunchKernelEx(&config, empty, nullptr, nullptr));
    attribute.value.clusterDim.x = 16;
    config.gridDimX = 16;
    ask("cuLaunchKernelEx cluster 16", d.cuLaunchKernelEx(&config, empty, nullptr, nullptr));
    attribute.value.clusterDim.x = 0;
    ask("cuLaunchKernelEx cluster 0", d.cuLaunchKernelEx(&config, empty, nullptr, nullptr));
    int blocks = 0;
    ask("cuOccupancyMaxActiveBlocksPerMultiprocessor",
        d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 0));
    note("blocks of 256", blocks);
    d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 32, 0);
    note("blocks of 32", blocks);
    d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 48 << 10);
    note("blocks of 256 with 48 KiB", blocks);
    ask("occupancy, block 0", d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 0, 0));
    ask("occupancy, block 2048",
        d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 2048, 0));
    int min_grid = 0, block = 0;
    ask("cuOccupancyMaxPotentialBlockSize",
        d.cuOccupancyMaxPotentialBlockSize(&min_grid, &block, empty, nullptr, 0, 0));
    note("grid", min_grid);
    note("block", block);
    CUcontext other = nullptr;
    CUstream foreign = nullptr;
    d.cuCtxCreate_v2(&other, 0, 0);
    d.cuStreamCreate(&foreign, 0);
    ask("launch into another context's stream",
        d.cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, foreign, nullptr, nullptr));
    ask("launch with another context current",
        d.cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    d.cuCtxDestroy(other);
}

void resolution() {
    d.cuInit(0);
    int version = 0;
    d.cuDriverGetVersion(&version);
    const auto look_up = [&](const char *name, int requested, cuuint64_t flags) {
        void *pointer = reinterpret_cast<void *>(1);
        auto result = static_cast<CUdriverProcAddressQueryResult>(77);
        const std::string what = std::string(name ? name : "(null)") + " " +
                                 std::to_string(requested) + " flags " + std::to_string(flags);
        ask(what.c_str(), d.cuGetProcAddress_v2(name, &pointer, requested, flags, &result));
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
    ask("cuGetProcAddress_v2 without a result",
        d.cuGetProcAddress_v2("cuNothing", &pointer, 12000, 0, nullptr));
    note("pointer is null", pointer == nullptr);
    ask("cuGetProcAddress_v2 without a result, too old",
        d.cuGetProcAddress_v2("cuGreenCtxCreate", &pointer, 12000, 0, nullptr));
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
        note(what.c_str(), pointer == each.expected);
    }
}

} // namespace record::QUESTIONS
