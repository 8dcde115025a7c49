// Further questions about external memory and semaphores, with a descriptor of driver memory, which
// imports as both. No signals or waits, since these would write to the memory.
#include "../../record.hpp"

#include <unistd.h>

namespace record::QUESTIONS {

namespace {

int new_descriptor(std::size_t size) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle = 0;
    int fd = -1;
    d.cuMemCreate(&handle, size, &prop, 0);
    d.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    d.cuMemRelease(handle);
    return fd;
}

template <class Add, class Get, class Set, class SetExec, class Params>
void ask_node(const std::string &kind, CUgraph graph, Add add, Get get, Set set, SetExec set_exec,
              Params params) {
    CUgraphNode node = nullptr, empty = nullptr;
    const auto ask_of = [&](const char *what, CUresult status) {
        ask((kind + ": " + what).c_str(), status);
    };
    ask_of("add", add(&node, graph, &params));
    d.cuGraphAddEmptyNode(&empty, graph, nullptr, 0);
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

void external_arrays() {
    if (!start()) {
        return;
    }
    constexpr std::size_t size = 2 << 20;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from{};
    from.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    from.handle.fd = new_descriptor(size);
    from.size = size;
    CUexternalMemory memory = nullptr;
    ask("cuImportExternalMemory", d.cuImportExternalMemory(&memory, &from));
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC levels{};
    levels.arrayDesc.Width = levels.arrayDesc.Height = 64;
    levels.arrayDesc.Format = CU_AD_FORMAT_FLOAT;
    levels.arrayDesc.NumChannels = 1;
    levels.numLevels = 1;
    CUmipmappedArray array = nullptr, refused = nullptr;
    ask("cuExternalMemoryGetMappedMipmappedArray",
        d.cuExternalMemoryGetMappedMipmappedArray(&array, memory, &levels));
    if (array) {
        ask("cuMipmappedArrayDestroy", d.cuMipmappedArrayDestroy(array));
    }
    levels.arrayDesc.Height = 60000;
    ask("cuExternalMemoryGetMappedMipmappedArray larger than the memory",
        d.cuExternalMemoryGetMappedMipmappedArray(&refused, memory, &levels));
    ask("cuDestroyExternalMemory", d.cuDestroyExternalMemory(memory));
}

void external_semaphores() {
    if (!start()) {
        return;
    }
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
    CUgraph graph = nullptr;
    d.cuGraphCreate(&graph, 0);
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
    ask("cuDestroyExternalSemaphore", d.cuDestroyExternalSemaphore(semaphore));
}

void dma_buffers() {
    if (!start()) {
        return;
    }
    constexpr std::size_t size = 2 << 20;
    CUdeviceptr p = 0;
    int fd = -1;
    d.cuMemAlloc(&p, size);
    constexpr auto dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    const CUresult status = d.cuMemGetHandleForAddressRange(&fd, p, size, dma_buf, 0);
    ask("cuMemGetHandleForAddressRange", status);
    if (status == CUDA_SUCCESS) {
        close(fd);
    }
    ask("cuMemGetHandleForAddressRange of 100 bytes",
        d.cuMemGetHandleForAddressRange(&fd, p, 100, dma_buf, 0));
    ask("cuMemGetHandleForAddressRange of 0 bytes",
        d.cuMemGetHandleForAddressRange(&fd, p, 0, dma_buf, 0));
    ask("cuMemGetHandleForAddressRange flags 0x80",
        d.cuMemGetHandleForAddressRange(&fd, p, size, dma_buf, 0x80));
    d.cuMemFree(p);
}

} // namespace record::QUESTIONS
