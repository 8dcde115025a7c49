#include "values.hpp"
#include "../questions/parameters.hpp"
#include "../questions/ptx_file.hpp"

#include <cstdlib>
#include <unistd.h>

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

CUdeviceptr Values::memory() {
    return once(memory_, [](auto out) {
        const CUresult made = d.cuMemAlloc(out, block);
        d.cuMemsetD8(*out, 0, block);
        d.cuCtxSynchronize();
        return made;
    });
}

CUdeviceptr Values::source() {
    return once(source_, [](auto out) {
        const CUresult made = d.cuMemAlloc(out, block);
        d.cuMemsetD8(*out, 0, block);
        d.cuCtxSynchronize();
        return made;
    });
}

void *Values::host() {
    return once(host_, [](auto out) { return d.cuMemAllocHost(out, block); });
}

void *Values::pageable() {
    return once(pageable_, [](auto out) {
        *out = std::aligned_alloc(4096, block);
        std::memset(*out, 0, block);
        return CUDA_SUCCESS;
    });
}

void *Values::registered() {
    return once(registered_, [](auto out) {
        *out = std::aligned_alloc(4096, block);
        std::memset(*out, 0, block);
        return d.cuMemHostRegister(*out, block, 0);
    });
}

CUdeviceptr Values::managed() {
    return once(managed_,
                [](auto out) { return d.cuMemAllocManaged(out, block, CU_MEM_ATTACH_GLOBAL); });
}

CUmemPoolProps Values::pool_properties(CUmemLocation at) {
    return {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            .location = at};
}

CUmemoryPool Values::pool() {
    return once(pool_, [&](auto out) {
        const CUmemPoolProps properties = pool_properties(here());
        return d.cuMemPoolCreate(out, &properties);
    });
}

int Values::pool_descriptor() {
    int made = -1;
    check(d.cuMemPoolExportToShareableHandle(&made, pool(),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return made;
}

CUmemoryPool Values::imported_pool() {
    return once(imported_pool_, [&](auto out) {
        void *handle = reinterpret_cast<void *>(std::intptr_t(pool_descriptor()));
        return d.cuMemPoolImportFromShareableHandle(out, handle,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    });
}

CUdeviceptr Values::pool_memory() {
    return once(pool_memory_, [&](auto out) {
        int descriptor = -1; // the pool must be exported before its memory
        d.cuMemPoolExportToShareableHandle(&descriptor, pool(),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        close(descriptor);
        const CUresult made = d.cuMemAllocFromPoolAsync(out, block, pool(), stream());
        d.cuStreamSynchronize(stream());
        return made;
    });
}

CUmemAllocationProp Values::physical_properties(CUmemLocation at) {
    return {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            .location = at};
}

CUmemGenericAllocationHandle Values::physical() {
    return once(physical_, [&](auto out) {
        const CUmemAllocationProp properties = physical_properties(here());
        return d.cuMemCreate(out, page, &properties, 0);
    });
}

CUdeviceptr Values::reserved() {
    return once(reserved_, [](auto out) { return d.cuMemAddressReserve(out, page, 0, 0, 0); });
}

CUmemAccessDesc Values::access(CUmemLocation at) {
    return {.location = at, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

CUdeviceptr Values::mapped() {
    return once(mapped_, [&](auto out) {
        const CUmemAccessDesc all = access(here());
        d.cuMemAddressReserve(out, page, 0, 0, 0);
        d.cuMemMap(*out, page, 0, physical(), 0);
        return d.cuMemSetAccess(*out, page, &all, 1);
    });
}

int Values::descriptor() {
    int made = -1;
    check(d.cuMemExportToShareableHandle(&made, physical(),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return made;
}

CUDA_ARRAY3D_DESCRIPTOR Values::shape() const {
    return {.Width = width,
            .Height = height,
            .Depth = 0,
            .Format = CU_AD_FORMAT_FLOAT,
            .NumChannels = 1,
            .Flags = CUDA_ARRAY3D_SURFACE_LDST};
}

CUarray Values::array() {
    return once(array_, [&](auto out) {
        const CUDA_ARRAY3D_DESCRIPTOR of = shape();
        return d.cuArray3DCreate(out, &of);
    });
}

CUarray Values::other_array() {
    return once(other_array_, [&](auto out) {
        const CUDA_ARRAY3D_DESCRIPTOR of = shape();
        return d.cuArray3DCreate(out, &of);
    });
}

CUmipmappedArray Values::levels() {
    return once(levels_, [&](auto out) {
        const CUDA_ARRAY3D_DESCRIPTOR of = shape();
        return d.cuMipmappedArrayCreate(out, &of, 1);
    });
}

CUarray Values::array_with(unsigned int flags) {
    return once(array_with_, [&](auto out) {
        CUDA_ARRAY3D_DESCRIPTOR of = shape();
        of.Width = of.Height = 1024; // several tiles of a sparse array
        of.Flags = flags;
        return d.cuArray3DCreate(out, &of);
    });
}

CUmipmappedArray Values::levels_with(unsigned int flags) {
    return once(levels_with_, [&](auto out) {
        CUDA_ARRAY3D_DESCRIPTOR of = shape();
        of.Width = of.Height = 1024;
        of.Flags = flags;
        return d.cuMipmappedArrayCreate(out, &of, 1);
    });
}

CUDA_RESOURCE_DESC Values::of_array() {
    CUDA_RESOURCE_DESC of{.resType = CU_RESOURCE_TYPE_ARRAY};
    of.res.array.hArray = array();
    return of;
}

CUtexObject Values::texture() {
    return once(texture_, [&](auto out) {
        const CUDA_RESOURCE_DESC of = of_array();
        const CUDA_TEXTURE_DESC sampling{};
        const CUDA_RESOURCE_VIEW_DESC view{
            .format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = width, .height = height};
        return d.cuTexObjectCreate(out, &of, &sampling, &view);
    });
}

CUsurfObject Values::surface() {
    return once(surface_, [&](auto out) {
        const CUDA_RESOURCE_DESC of = of_array();
        return d.cuSurfObjectCreate(out, &of);
    });
}

CUtexref Values::texture_reference() {
    return once(texture_reference_, [&](auto out) {
        const CUresult found = d.cuModuleGetTexRef(out, module(), "image");
        d.cuTexRefSetArray(*out, array(), CU_TRSA_OVERRIDE_FORMAT);
        return found;
    });
}

CUtexref Values::reference_to_memory() {
    return once(reference_to_memory_, [&](auto out) {
        const CUresult found = d.cuModuleGetTexRef(out, module(), "image");
        std::size_t offset = 0;
        d.cuTexRefSetFormat(*out, CU_AD_FORMAT_FLOAT, 1);
        d.cuTexRefSetAddress(&offset, *out, memory(), small);
        return found;
    });
}

CUtexref Values::reference_to_levels() {
    return once(reference_to_levels_, [&](auto out) {
        const CUresult found = d.cuModuleGetTexRef(out, module(), "image");
        d.cuTexRefSetMipmappedArray(*out, levels(), CU_TRSA_OVERRIDE_FORMAT);
        return found;
    });
}

CUtexref Values::created_reference() {
    return once(created_reference_, [](auto out) { return d.cuTexRefCreate(out); });
}

CUsurfref Values::surface_reference() {
    return once(surface_reference_, [&](auto out) {
        const CUresult found = d.cuModuleGetSurfRef(out, module(), "plane");
        d.cuSurfRefSetArray(*out, array(), 0);
        return found;
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

CUgraph Values::graph() {
    return once(graph_, [](auto out) { return d.cuGraphCreate(out, 0); });
}

CUgraph Values::child() {
    return once(child_, [](auto out) {
        CUgraphNode node = nullptr;
        const CUresult made = d.cuGraphCreate(out, 0);
        d.cuGraphAddEmptyNode(&node, *out, nullptr, 0);
        return made;
    });
}

CUgraphNode Values::node() {
    return once(node_, [&](auto out) { return d.cuGraphAddEmptyNode(out, graph(), nullptr, 0); });
}

CUgraphNode Values::second_node() {
    return once(second_node_,
                [&](auto out) { return d.cuGraphAddEmptyNode(out, graph(), nullptr, 0); });
}

CUgraphNode Values::dependent_node() {
    return once(dependent_node_, [&](auto out) {
        const CUgraphNode on = node();
        return d.cuGraphAddEmptyNode(out, graph(), &on, 1);
    });
}

CUgraphNode Values::kernel_node() {
    return once(kernel_node_, [&](auto out) {
        const CUDA_KERNEL_NODE_PARAMS parameters = launch();
        return d.cuGraphAddKernelNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::copy_node() {
    return once(copy_node_, [&](auto out) {
        const CUDA_MEMCPY3D parameters = copy_3d();
        return d.cuGraphAddMemcpyNode(out, graph(), nullptr, 0, &parameters, context());
    });
}

CUgraphNode Values::fill_node() {
    return once(fill_node_, [&](auto out) {
        const CUDA_MEMSET_NODE_PARAMS parameters = fill();
        return d.cuGraphAddMemsetNode(out, graph(), nullptr, 0, &parameters, context());
    });
}

CUgraphNode Values::host_node() {
    return once(host_node_, [&](auto out) {
        const CUDA_HOST_NODE_PARAMS parameters = host_call();
        return d.cuGraphAddHostNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::child_node() {
    return once(child_node_, [&](auto out) {
        return d.cuGraphAddChildGraphNode(out, graph(), nullptr, 0, child());
    });
}

CUgraphNode Values::record_node() {
    return once(record_node_, [&](auto out) {
        return d.cuGraphAddEventRecordNode(out, graph(), nullptr, 0, event());
    });
}

CUgraphNode Values::wait_node() {
    return once(wait_node_, [&](auto out) {
        return d.cuGraphAddEventWaitNode(out, graph(), nullptr, 0, event());
    });
}

CUgraphNode Values::signal_semaphore_node() {
    return once(signal_node_, [&](auto out) {
        const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS parameters = signals();
        return d.cuGraphAddExternalSemaphoresSignalNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::wait_semaphore_node() {
    return once(wait_semaphore_node_, [&](auto out) {
        const CUDA_EXT_SEM_WAIT_NODE_PARAMS parameters = waits();
        return d.cuGraphAddExternalSemaphoresWaitNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::value_node() {
    return once(value_node_, [&](auto out) {
        const CUDA_BATCH_MEM_OP_NODE_PARAMS parameters = write_values();
        return d.cuGraphAddBatchMemOpNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::allocation_node() {
    return once(allocation_node_, [&](auto out) {
        allocated_ = allocation(here());
        return d.cuGraphAddMemAllocNode(out, graph(), nullptr, 0, &allocated_);
    });
}

CUdeviceptr Values::graph_memory() {
    allocation_node();
    return allocated_.dptr;
}

CUgraphNode Values::free_node() {
    return once(free_node_, [&](auto out) {
        const CUgraphNode after = allocation_node();
        return d.cuGraphAddMemFreeNode(out, graph(), &after, 1, allocated_.dptr);
    });
}

CUgraph Values::clone() {
    return once(clone_, [&](auto out) { return d.cuGraphClone(out, graph()); });
}

CUgraphExec Values::executable() {
    return once(executable_,
                [&](auto out) { return d.cuGraphInstantiateWithFlags(out, graph(), 0); });
}

CUuserObject Values::user_object() {
    return once(user_object_, [](auto out) {
        return d.cuUserObjectCreate(out, nullptr, do_nothing, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    });
}

CUuserObject Values::held_object() {
    return once(held_object_, [&](auto out) {
        *out = user_object();
        return d.cuGraphRetainUserObject(graph(), *out, 1, 0);
    });
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

CUDA_KERNEL_NODE_PARAMS Values::launch() {
    return launch_of(function(), 1);
}

CUlaunchConfig Values::configuration() {
    auto of = launch_of<CUlaunchConfig>(1);
    of.hStream = stream();
    return of;
}

CUDA_MEMCPY2D Values::copy_2d() {
    return copy_of<CUDA_MEMCPY2D>(memory(), source(), small);
}

CUDA_MEMCPY3D Values::copy_3d() {
    return copy_of<CUDA_MEMCPY3D>(memory(), source(), small);
}

CUDA_MEMCPY3D_PEER Values::copy_between() {
    auto of = copy_of<CUDA_MEMCPY3D_PEER>(memory(), source(), small);
    of.srcContext = of.dstContext = context();
    return of;
}

CUDA_MEMCPY3D_BATCH_OP Values::batched_copy() {
    CUDA_MEMCPY3D_BATCH_OP of{.extent = {small, 1, 1},
                              .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    of.src.type = of.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    of.src.op.ptr.ptr = source();
    of.dst.op.ptr.ptr = memory();
    return of;
}

CUDA_MEMSET_NODE_PARAMS Values::fill() {
    return fill_of(memory(), 0, 1, small);
}

CUDA_HOST_NODE_PARAMS Values::host_call() const {
    return {.fn = do_nothing, .userData = nullptr};
}

CUDA_MEM_ALLOC_NODE_PARAMS Values::allocation(CUmemLocation at) {
    CUDA_MEM_ALLOC_NODE_PARAMS of{.bytesize = block};
    of.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    of.poolProps.location = at;
    return of;
}

CUstreamBatchMemOpParams Values::write_value() {
    CUstreamBatchMemOpParams of{};
    of.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    of.writeValue.address = memory();
    return of;
}

CUDA_BATCH_MEM_OP_NODE_PARAMS Values::write_values() {
    return {.ctx = context(), .count = 1, .paramArray = put(write_value()), .flags = 0};
}

CUDA_EXT_SEM_SIGNAL_NODE_PARAMS Values::signals() {
    return {.extSemArray = put(semaphore()),
            .paramsArray = put(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS{}),
            .numExtSems = 1};
}

CUDA_EXT_SEM_WAIT_NODE_PARAMS Values::waits() {
    return {.extSemArray = put(semaphore()),
            .paramsArray = put(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS{}),
            .numExtSems = 1};
}

CUgraphNodeParams Values::node_parameters() {
    CUgraphNodeParams of{};
    of.type = CU_GRAPH_NODE_TYPE_MEMSET;
    of.memset = {.dst = memory(), .elementSize = 1, .width = small, .height = 1, .ctx = context()};
    return of;
}

CUmemPoolPtrExportData Values::exported_pointer() {
    CUmemPoolPtrExportData of{};
    check(d.cuMemPoolExportPointer(&of, pool_memory()));
    return of;
}

const char *Values::bus_id() {
    char *name = static_cast<char *>(room());
    d.cuDeviceGetPCIBusId(name, 64, device_);
    return name;
}

cudaMemcpy3DParms Values::copy_of_runtime() {
    return {.srcPtr = {reinterpret_cast<void *>(source()), small, small, 1},
            .dstPtr = {reinterpret_cast<void *>(memory()), small, small, 1},
            .extent = {small, 1, 1},
            .kind = cudaMemcpyDeviceToDevice};
}

cudaMemcpy3DPeerParms Values::copy_between_of_runtime() {
    return {.srcPtr = {reinterpret_cast<void *>(source()), small, small, 1},
            .srcDevice = device_,
            .dstPtr = {reinterpret_cast<void *>(memory()), small, small, 1},
            .dstDevice = device_,
            .extent = {small, 1, 1}};
}

cudaMemcpy3DBatchOp Values::batched_copy_of_runtime() {
    cudaMemcpy3DBatchOp of{.extent = {small, 1, 1},
                           .srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    of.src.type = of.dst.type = cudaMemcpyOperandTypePointer;
    of.src.op.ptr.ptr = reinterpret_cast<void *>(source());
    of.dst.op.ptr.ptr = reinterpret_cast<void *>(memory());
    return of;
}

cudaMemsetParams Values::fill_of_runtime() {
    return {
        .dst = reinterpret_cast<void *>(memory()), .elementSize = 1, .width = small, .height = 1};
}

cudaKernelNodeParams Values::launch_of_runtime() {
    return {.func = function_of_runtime(), .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
}

cudaLaunchConfig_t Values::configuration_of_runtime() {
    return {.gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .stream = stream()};
}

cudaResourceDesc Values::of_array_of_runtime() {
    cudaResourceDesc of{.resType = cudaResourceTypeArray};
    of.res.array.array = reinterpret_cast<cudaArray_t>(array());
    return of;
}

cudaMemPoolProps Values::pool_properties_of_runtime(cudaMemLocation at) {
    return {.allocType = cudaMemAllocationTypePinned,
            .handleTypes = cudaMemHandleTypePosixFileDescriptor,
            .location = at};
}

cudaMemAllocNodeParams Values::allocation_of_runtime(cudaMemLocation at) {
    cudaMemAllocNodeParams of{.bytesize = block};
    of.poolProps.allocType = cudaMemAllocationTypePinned;
    of.poolProps.location = at;
    return of;
}

cudaGraphNodeParams Values::node_parameters_of_runtime() {
    cudaGraphNodeParams of{};
    of.type = cudaGraphNodeTypeMemset;
    of.memset.dst = reinterpret_cast<void *>(memory());
    of.memset.elementSize = 1;
    of.memset.width = small;
    of.memset.height = 1;
    return of;
}

cudaExternalMemoryHandleDesc Values::import_memory_of_runtime() {
    cudaExternalMemoryHandleDesc of{.type = cudaExternalMemoryHandleTypeOpaqueFd, .size = page};
    of.handle.fd = descriptor();
    return of;
}

cudaExternalSemaphoreHandleDesc Values::import_semaphore_of_runtime() {
    cudaExternalSemaphoreHandleDesc of{.type = cudaExternalSemaphoreHandleTypeOpaqueFd};
    of.handle.fd = descriptor();
    return of;
}

cudaExternalMemoryMipmappedArrayDesc Values::levels_of_runtime() const {
    return {.formatDesc = channel(),
            .extent = {width, height, 0},
            .flags = cudaArraySurfaceLoadStore,
            .numLevels = 1};
}

CUtensorMap Values::tensor_map() {
    alignas(64) CUtensorMap map{};
    const cuuint64_t sizes[] = {64, 64}, strides[] = {256};
    const cuuint32_t box[] = {16, 16}, steps[] = {1, 1};
    check(d.cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, reinterpret_cast<void *>(memory()), sizes,
        strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

} // namespace record::plausible
