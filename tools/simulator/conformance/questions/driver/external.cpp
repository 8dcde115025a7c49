// Further questions about external memory and semaphores, with a descriptor of driver memory, which
// imports as both. No signals or waits, since these would write to the memory.
#include "../../record.hpp"

#include <unistd.h>

namespace record::QUESTIONS {

namespace {

int new_descriptor(std::size_t size) {
    CUmemAllocationProp prop{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    int fd = -1;
    CUmemGenericAllocationHandle handle = MAKE(cuMemCreate, size, &prop, 0);
    d.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    d.cuMemRelease(handle);
    return fd;
}

template <class Add, class Get, class Set, class SetExec, class Params>
void ask_node(const std::string &kind, CUgraph graph, Add add, Get get, Set set, SetExec set_exec,
              Params params) {
    CUgraphNode node = nullptr;
    const auto ask_of = [&](const char *what, CUresult status) { ask(kind + ": " + what, status); };
    ask_of("add", add(&node, graph, &params));
    CUgraphNode empty = MAKE(cuGraphAddEmptyNode, graph, nullptr, 0);
    Params back{};
    ask_of("get", get(node, &back));
    note("semaphores", back.numExtSems);
    ask_of("get of an empty node", get(empty, &back));
    ask_of("set", set(node, &params));
    ask_of("set of an empty node", set(empty, &params));
    CUgraphExec exec = nullptr;
    ask_of("instantiate", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask_of("set in the executable graph", set_exec(exec, node, &params));
    ask_of("set in the executable graph, of an empty node", set_exec(exec, empty, &params));
    ask_of("destroy", d.cuGraphExecDestroy(exec));
}

} // namespace

SECTION("external_arrays", start) {
    constexpr std::size_t size = 2 << 20;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from{};
    from.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    from.handle.fd = new_descriptor(size);
    from.size = size;
    CUexternalMemory memory = nullptr;
    ASK(cuImportExternalMemory, "", &memory, &from);
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC levels{
        .arrayDesc = {.Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1},
        .numLevels = 1};
    CUmipmappedArray array = nullptr, refused = nullptr;
    ASK(cuExternalMemoryGetMappedMipmappedArray, "", &array, memory, &levels);
    if (array) {
        ASK(cuMipmappedArrayDestroy, "", array);
    }
    levels.arrayDesc.Height = 60000;
    ASK(cuExternalMemoryGetMappedMipmappedArray, " larger than the memory", &refused, memory,
        &levels);
    ASK(cuDestroyExternalMemory, "", memory);
}

SECTION("external_semaphores", start) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC from{};
    from.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    from.handle.fd = new_descriptor(2 << 20);
    CUexternalSemaphore semaphore = nullptr;
    const CUresult imported = d.cuImportExternalSemaphore(&semaphore, &from);
    ask("cuImportExternalSemaphore", imported);
    if (imported != CUDA_SUCCESS) {
        return;
    }
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ask_node(
        "signal node", graph,
        [](CUgraphNode *node, CUgraph g, auto *params) {
            return d.cuGraphAddExternalSemaphoresSignalNode(node, g, nullptr, 0, params);
        },
        [](auto... a) { return d.cuGraphExternalSemaphoresSignalNodeGetParams(a...); },
        [](auto... a) { return d.cuGraphExternalSemaphoresSignalNodeSetParams(a...); },
        [](auto... a) { return d.cuGraphExecExternalSemaphoresSignalNodeSetParams(a...); },
        CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{&semaphore, &signal, 1});
    d.cuGraphDestroy(graph);
    d.cuGraphCreate(&graph, 0);
    ask_node(
        "wait node", graph,
        [](CUgraphNode *node, CUgraph g, auto *params) {
            return d.cuGraphAddExternalSemaphoresWaitNode(node, g, nullptr, 0, params);
        },
        [](auto... a) { return d.cuGraphExternalSemaphoresWaitNodeGetParams(a...); },
        [](auto... a) { return d.cuGraphExternalSemaphoresWaitNodeSetParams(a...); },
        [](auto... a) { return d.cuGraphExecExternalSemaphoresWaitNodeSetParams(a...); },
        CUDA_EXT_SEM_WAIT_NODE_PARAMS{&semaphore, &wait, 1});
    d.cuGraphDestroy(graph);
    ASK(cuDestroyExternalSemaphore, "", semaphore);
}

SECTION("dma_buffers", start) {
    constexpr std::size_t size = 2 << 20;
    int fd = -1;
    CUdeviceptr p = MAKE(cuMemAlloc, size);
    constexpr auto dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    const CUresult status = d.cuMemGetHandleForAddressRange(&fd, p, size, dma_buf, 0);
    ask("cuMemGetHandleForAddressRange", status);
    if (status == CUDA_SUCCESS) {
        close(fd);
    }
    ASK(cuMemGetHandleForAddressRange, " of 100 bytes", &fd, p, 100, dma_buf, 0);
    ASK(cuMemGetHandleForAddressRange, " of 0 bytes", &fd, p, 0, dma_buf, 0);
    ASK(cuMemGetHandleForAddressRange, " flags 0x80", &fd, p, size, dma_buf, 0x80);
    d.cuMemFree(p);
}

} // namespace record::QUESTIONS
