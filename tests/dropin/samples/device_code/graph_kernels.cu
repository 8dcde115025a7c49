// Graphs with kernels: a capture that forks into two streams and joins them, and kernel nodes,
// whose arguments change in the executable graph.
#include "../check_runtime.h"

#include <vector>

namespace {

constexpr int count = 1 << 14;
constexpr int threads = 256;
constexpr size_t bytes = count * sizeof(int);

__global__ void fill(int *values, int value) {
    values[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void add(const int *a, const int *b, int *out, int times) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = times * (a[i] + b[i]);
}

struct Memory {
    int *a, *b, *out;
    Memory() {
        CHECK(cudaMalloc(&a, bytes));
        CHECK(cudaMalloc(&b, bytes));
        CHECK(cudaMalloc(&out, bytes));
    }
    Memory(const Memory &) = delete;
    ~Memory() {
        CHECK(cudaFree(a));
        CHECK(cudaFree(b));
        CHECK(cudaFree(out));
    }
};

int check_all(const char *what, const int *device, int wanted) {
    std::vector<int> host(count);
    CHECK(cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (const int each : host) {
        wrong += each == wanted ? 0 : 1;
    }
    printf("%s: %d, wrong %d\n", what, host[0], wrong);
    return wrong;
}

int launch_and_check(const char *what, cudaGraphExec_t exec, cudaStream_t stream,
                     const Memory &memory, int wanted) {
    CHECK(cudaMemset(memory.out, 0, bytes));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    return check_all(what, memory.out, wanted);
}

// Fills a and b in parallel branches.
cudaGraph_t captured(cudaStream_t stream, const Memory &memory) {
    cudaStream_t beside;
    cudaEvent_t forked, joined;
    CHECK(cudaStreamCreate(&beside));
    CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(forked, stream));
    CHECK(cudaStreamWaitEvent(beside, forked, 0));
    fill<<<count / threads, threads, 0, stream>>>(memory.a, 3);
    fill<<<count / threads, threads, 0, beside>>>(memory.b, 4);
    CHECK(cudaEventRecord(joined, beside));
    CHECK(cudaStreamWaitEvent(stream, joined, 0));
    add<<<count / threads, threads, 0, stream>>>(memory.a, memory.b, memory.out, 1);
    CHECK(cudaGetLastError());
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaEventDestroy(forked));
    CHECK(cudaEventDestroy(joined));
    CHECK(cudaStreamDestroy(beside));
    return graph;
}

int with_capture(cudaStream_t stream, const Memory &memory) {
    const cudaGraph_t graph = captured(stream, memory);
    size_t nodes = 0, roots = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    printf("captured %d nodes, %d of them roots\n", static_cast<int>(nodes),
           static_cast<int>(roots));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    const int wrong = launch_and_check("captured", exec, stream, memory, 7);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return wrong + (nodes == 3 && roots == 2 ? 0 : 1);
}

// The runtime identifies a kernel by its host function.
cudaKernelNodeParams call_of(void *function, void **arguments) {
    cudaKernelNodeParams parameters = {};
    parameters.func = function;
    parameters.gridDim = dim3(count / threads);
    parameters.blockDim = dim3(threads);
    parameters.kernelParams = arguments;
    return parameters;
}

int with_nodes(cudaStream_t stream, Memory &memory) {
    cudaGraph_t graph;
    cudaGraphNode_t fills[2], sum;
    int first = 10, second = 20, times = 2;
    void *fill_a[] = {&memory.a, &first};
    void *fill_b[] = {&memory.b, &second};
    void *add_both[] = {&memory.a, &memory.b, &memory.out, &times};
    CHECK(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams parameters = call_of(reinterpret_cast<void *>(fill), fill_a);
    CHECK(cudaGraphAddKernelNode(&fills[0], graph, nullptr, 0, &parameters));
    parameters = call_of(reinterpret_cast<void *>(fill), fill_b);
    CHECK(cudaGraphAddKernelNode(&fills[1], graph, nullptr, 0, &parameters));
    parameters = call_of(reinterpret_cast<void *>(add), add_both);
    CHECK(cudaGraphAddKernelNode(&sum, graph, fills, 2, &parameters));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    int wrong = launch_and_check("nodes", exec, stream, memory, 60);

    times = 5;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, sum, &parameters));
    wrong += launch_and_check("changed", exec, stream, memory, 150);
    cudaKernelNodeParams seen = {};
    CHECK(cudaGraphKernelNodeGetParams(sum, &seen));
    const bool same = seen.func == reinterpret_cast<void *>(add) && seen.blockDim.x == threads;
    printf("the node's kernel: %s\n", same ? "the same" : "ANOTHER");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return wrong + (same ? 0 : 1);
}

} // namespace

int main() {
    need_device();
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    int wrong = 0;
    {
        Memory memory;
        wrong = with_capture(stream, memory) + with_nodes(stream, memory);
    }
    CHECK(cudaStreamDestroy(stream));
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
