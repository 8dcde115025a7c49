// Contexts, streams, events, code, and what is imported, exported or registered.
#include "values.hpp"
#include "../questions/ptx_file.hpp"

namespace record::plausible {

namespace {

const char code[] = R"(.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter;
.global .attribute(.managed) .align 4 .u32 shared;
.global .texref image;
.global .surfref plane;
.visible .entry empty()
{
    ret;
}
.visible .entry add(.param .u64 out, .param .u32 n)
{
    ret;
}
)";

} // namespace

void do_nothing(void *) {}

// The current context stays.
CUcontext second_context() {
    static const CUcontext made = [] {
        CUcontext out = nullptr;
        d.cuCtxCreate(&out, nullptr, 0, 0);
        d.cuCtxPopCurrent(nullptr);
        return out;
    }();
    return made;
}

void *Values::room() {
    return &rooms_.emplace_back();
}

CUcontext Values::context() {
    return once(context_, [](auto out) { return d.cuCtxGetCurrent(out); });
}

// The current context stays.
CUcontext Values::own_context() {
    return once(own_context_, [&](auto out) {
        const CUresult made = d.cuCtxCreate(out, nullptr, 0, device_);
        d.cuCtxPopCurrent(nullptr);
        return made;
    });
}

CUstream Values::stream() {
    return once(stream_, [](auto out) { return d.cuStreamCreate(out, CU_STREAM_NON_BLOCKING); });
}

CUstream Values::other_stream() {
    return once(other_stream_,
                [](auto out) { return d.cuStreamCreate(out, CU_STREAM_NON_BLOCKING); });
}

CUstream Values::capturing_stream() {
    return once(capturing_stream_, [](auto out) {
        d.cuStreamCreate(out, CU_STREAM_NON_BLOCKING);
        return d.cuStreamBeginCapture(*out, CU_STREAM_CAPTURE_MODE_RELAXED);
    });
}

CUevent Values::event() {
    return once(event_, [&](auto out) {
        const CUresult made = d.cuEventCreate(out, 0);
        d.cuEventRecord(*out, stream());
        d.cuEventSynchronize(*out);
        return made;
    });
}

CUevent Values::other_event() {
    return once(other_event_, [&](auto out) {
        const CUresult made = d.cuEventCreate(out, 0);
        d.cuEventRecord(*out, stream());
        d.cuEventSynchronize(*out);
        return made;
    });
}

CUevent Values::shared_event() {
    return once(shared_event_, [](auto out) {
        return d.cuEventCreate(out, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    });
}

CUmodule Values::module() {
    return once(module_, [](auto out) { return d.cuModuleLoadData(out, code); });
}

CUfunction Values::function() {
    return once(function_, [&](auto out) { return d.cuModuleGetFunction(out, module(), "empty"); });
}

CUfunction Values::function_with_parameters() {
    return once(function_with_parameters_,
                [&](auto out) { return d.cuModuleGetFunction(out, module(), "add"); });
}

CUlibrary Values::library() {
    return once(library_, [](auto out) {
        return d.cuLibraryLoadData(out, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
    });
}

CUkernel Values::kernel() {
    return once(kernel_, [&](auto out) { return d.cuLibraryGetKernel(out, library(), "empty"); });
}

CUkernel Values::kernel_with_parameters() {
    return once(kernel_with_parameters_,
                [&](auto out) { return d.cuLibraryGetKernel(out, library(), "add"); });
}

void *Values::function_of_runtime() {
    return kernel();
}

CUlinkState Values::linking() {
    return once(linking_, [](auto out) { return d.cuLinkCreate(0, nullptr, nullptr, out); });
}

CUlinkState Values::linking_code() {
    return once(linking_code_, [&](auto out) {
        *out = linking();
        return d.cuLinkAddData(*out, CU_JIT_INPUT_PTX, const_cast<char *>(legacy::ptx),
                               std::strlen(legacy::ptx) + 1, "code", 0, nullptr, nullptr);
    });
}

// Removed when the process exits normally.
const char *Values::code_file() {
    static const legacy::PtxFile file;
    return file.path();
}

CUexternalMemory Values::external_memory() {
    return once(external_memory_, [&](auto out) {
        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC from = import_memory();
        return d.cuImportExternalMemory(out, &from);
    });
}

CUDA_EXTERNAL_MEMORY_HANDLE_DESC Values::import_memory() {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from{.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                          .size = page};
    from.handle.fd = descriptor();
    return from;
}

// A descriptor of physical memory imports as a semaphore, too.
CUexternalSemaphore Values::semaphore() {
    return once(semaphore_, [&](auto out) {
        const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC from = import_semaphore();
        return d.cuImportExternalSemaphore(out, &from);
    });
}

CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC Values::import_semaphore() {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC from{.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD};
    from.handle.fd = descriptor();
    return from;
}

CUdevResource Values::multiprocessors() {
    CUdevResource all{};
    check(d.cuDeviceGetDevResource(device_, &all, CU_DEV_RESOURCE_TYPE_SM));
    return all;
}

CUdevResourceDesc Values::resource() {
    return once(resource_, [&](auto out) {
        CUdevResource all = multiprocessors();
        return d.cuDevResourceGenerateDesc(out, &all, 1);
    });
}

CUgreenCtx Values::green() {
    return once(green_, [&](auto out) {
        return d.cuGreenCtxCreate(out, resource(), device_, CU_GREEN_CTX_DEFAULT_STREAM);
    });
}

CUasyncCallbackHandle Values::notification() {
    return once(notification_, [&](auto out) {
        return d.cuDeviceRegisterAsyncNotification(
            device_, [](CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {}, nullptr, out);
    });
}

CUlogsCallbackHandle Values::log_callback() {
    return once(log_callback_, [](auto out) {
        return d.cuLogsRegisterCallback([](void *, CUlogLevel, char *, std::size_t) {}, nullptr,
                                        out);
    });
}

CUipcMemHandle Values::memory_handle() {
    CUipcMemHandle handle{};
    check(d.cuIpcGetMemHandle(&handle, memory()));
    return handle;
}

CUipcEventHandle Values::event_handle() {
    CUipcEventHandle handle{};
    check(d.cuIpcGetEventHandle(&handle, shared_event()));
    return handle;
}

} // namespace record::plausible
