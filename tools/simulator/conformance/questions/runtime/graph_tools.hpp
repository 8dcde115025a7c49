// Helpers for questions about runtime graphs: a graph, and calls that differ between headers.
#pragma once

#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {

inline void CUDART_CB nothing(void *) {}

// A graph with an empty node, device memory of 256 bytes, and pinned memory of the same size.
struct Graph {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t empty = nullptr;
    void *p = nullptr, *h = nullptr;

    Graph() {
        r.cudaGraphCreate(&graph, 0);
        r.cudaGraphAddEmptyNode(&empty, graph, nullptr, 0);
        r.cudaMalloc(&p, 256);
        r.cudaMallocHost(&h, 256);
    }
    ~Graph() {
        ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
        ask("cudaGraphDestroy", r.cudaGraphDestroy(graph));
        r.cudaFreeHost(h);
        r.cudaFree(p);
    }
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;
};

inline cudaMemsetParams filling(void *p) {
    cudaMemsetParams fill{.dst = p, .value = 1, .elementSize = 1, .width = 64, .height = 1};
    return fill;
}

inline cudaMemcpy3DParms copying(void *to, void *from) {
    cudaMemcpy3DParms block{.srcPtr = {from, 16, 16, 4},
                            .dstPtr = {to, 32, 32, 4},
                            .extent = {8, 4, 2},
                            .kind = cudaMemcpyHostToDevice};
    return block;
}

inline cudaError_t link(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 13000
    return r.cudaGraphAddDependencies(graph, &from, &to, nullptr, 1);
#else
    return r.cudaGraphAddDependencies(graph, &from, &to, 1);
#endif
}

inline cudaError_t unlink(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 13000
    return r.cudaGraphRemoveDependencies(graph, &from, &to, nullptr, 1);
#else
    return r.cudaGraphRemoveDependencies(graph, &from, &to, 1);
#endif
}

inline cudaError_t edges(cudaGraph_t graph, std::size_t *count) {
#if CUDART_VERSION >= 13000
    return r.cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, count);
#else
    return r.cudaGraphGetEdges(graph, nullptr, nullptr, count);
#endif
}

inline cudaError_t dependencies_of(cudaGraphNode_t node, std::size_t *count) {
#if CUDART_VERSION >= 13000
    return r.cudaGraphNodeGetDependencies(node, nullptr, nullptr, count);
#else
    return r.cudaGraphNodeGetDependencies(node, nullptr, count);
#endif
}

inline cudaError_t dependents_of(cudaGraphNode_t node, std::size_t *count) {
#if CUDART_VERSION >= 13000
    return r.cudaGraphNodeGetDependentNodes(node, nullptr, nullptr, count);
#else
    return r.cudaGraphNodeGetDependentNodes(node, nullptr, count);
#endif
}

} // namespace record::QUESTIONS::runtime
