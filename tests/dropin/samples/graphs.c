/* Graphs, runtime API: one captured from a stream and one built from nodes, with copies, memsets
 * and host functions. */
#include "check_runtime.h"

#include <string.h>

enum { LENGTH = 4096, BYTES = LENGTH * sizeof(int), LAUNCHES = 3 };

struct work {
    int *from;   /* on the host, pinned */
    int *to;     /* on the host, pinned */
    int *first;  /* on the device */
    int *second; /* on the device */
    int runs;    /* calls of the host function */
    long sum;    /* of `to`, as the host function found it */
};

static void CUDART_CB add_up(void *data) {
    struct work *work = (struct work *)data;
    work->sum = 0;
    for (int i = 0; i < LENGTH; ++i) {
        work->sum += work->to[i];
    }
    ++work->runs;
}

static void prepare(struct work *work) {
    memset(work, 0, sizeof *work);
    CHECK(cudaMallocHost((void **)&work->from, BYTES));
    CHECK(cudaMallocHost((void **)&work->to, BYTES));
    CHECK(cudaMalloc((void **)&work->first, BYTES));
    CHECK(cudaMalloc((void **)&work->second, BYTES));
    for (int i = 0; i < LENGTH; ++i) {
        work->from[i] = i;
    }
}

static void release(struct work *work) {
    CHECK(cudaFreeHost(work->from));
    CHECK(cudaFreeHost(work->to));
    CHECK(cudaFree(work->first));
    CHECK(cudaFree(work->second));
}

/* The sum of 0 .. LENGTH-1 if the first quarter is zero, with each_more added to every other
 * element. */
static long expected_sum(long each_more) {
    long sum = 0;
    for (int i = LENGTH / 4; i < LENGTH; ++i) {
        sum += i + each_more;
    }
    return sum;
}

static cudaGraph_t captured(cudaStream_t stream, struct work *work) {
    cudaGraph_t graph;
    enum cudaStreamCaptureStatus status;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(work->first, work->from, BYTES, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemsetAsync(work->first, 0, BYTES / 4, stream));
    CHECK(cudaMemcpyAsync(work->second, work->first, BYTES, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemcpyAsync(work->to, work->second, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, add_up, work));
    CHECK(cudaStreamIsCapturing(stream, &status));
    if (status != cudaStreamCaptureStatusActive) {
        printf("not capturing\n");
        exit(EXIT_WRONG_RESULT);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* The same graph built from nodes. Also returns the node that fills `to`. */
static cudaGraph_t made(struct work *work, cudaGraphNode_t *last_copy) {
    cudaGraph_t graph;
    cudaGraphNode_t up, zeros, across, host;
    struct cudaMemsetParams fill;
    struct cudaHostNodeParams function;
    memset(&fill, 0, sizeof fill);
    fill.dst = work->first;
    fill.elementSize = sizeof(int);
    fill.width = LENGTH / 4;
    fill.height = 1;
    function.fn = add_up;
    function.userData = work;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&up, graph, NULL, 0, work->first, work->from, BYTES,
                                   cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddMemsetNode(&zeros, graph, &up, 1, &fill));
    CHECK(cudaGraphAddMemcpyNode1D(&across, graph, &zeros, 1, work->second, work->first, BYTES,
                                   cudaMemcpyDeviceToDevice));
    CHECK(cudaGraphAddMemcpyNode1D(last_copy, graph, &across, 1, work->to, work->second, BYTES,
                                   cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddHostNode(&host, graph, last_copy, 1, &function));
    return graph;
}

/* Prints the number of nodes of each type. */
static void print_nodes(const char *name, cudaGraph_t graph) {
    cudaGraphNode_t nodes[16];
    size_t count = sizeof nodes / sizeof *nodes, roots = 0;
    int copies = 0, fills = 0, functions = 0;
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(cudaGraphGetRootNodes(graph, NULL, &roots));
    for (size_t i = 0; i < count; ++i) {
        enum cudaGraphNodeType type;
        CHECK(cudaGraphNodeGetType(nodes[i], &type));
        copies += type == cudaGraphNodeTypeMemcpy;
        fills += type == cudaGraphNodeTypeMemset;
        functions += type == cudaGraphNodeTypeHost;
    }
    printf("%s: %d nodes, %d roots, %d copies, %d fills, %d host functions\n", name, (int)count,
           (int)roots, copies, fills, functions);
}

static int run(const char *name, cudaGraphExec_t exec, cudaStream_t stream, struct work *work,
               long expected) {
    work->runs = 0;
    for (int i = 0; i < LAUNCHES; ++i) {
        memset(work->to, 0xff, BYTES);
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    printf("%s: sum %ld, expected %ld, %d runs\n", name, work->sum, expected, work->runs);
    return work->sum == expected && work->runs == LAUNCHES ? 0 : 1;
}

static int with_captured(cudaStream_t stream, struct work *work) {
    cudaGraphExec_t exec;
    const cudaGraph_t graph = captured(stream, work);
    print_nodes("captured", graph);
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    const int wrong = run("captured", exec, stream, work, expected_sum(0));
    CHECK(cudaGraphExecDestroy(exec));
    return wrong;
}

static int with_made(cudaStream_t stream, struct work *work) {
    cudaGraphExec_t exec;
    cudaGraphNode_t last_copy;
    const cudaGraph_t graph = made(work, &last_copy);
    cudaGraph_t copy;
    print_nodes("made", graph);
    CHECK(cudaGraphClone(&copy, graph));
    print_nodes("its copy", copy);
    CHECK(cudaGraphDestroy(copy));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    int wrong = run("made", exec, stream, work, expected_sum(0));

    /* The last copy now reads another buffer. */
    int *other;
    CHECK(cudaMalloc((void **)&other, BYTES));
    for (int i = 0; i < LENGTH; ++i) {
        work->to[i] = i < LENGTH / 4 ? 0 : i + 5;
    }
    CHECK(cudaMemcpy(other, work->to, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, last_copy, work->to, other, BYTES,
                                             cudaMemcpyDeviceToHost));
    wrong += run("changed", exec, stream, work, expected_sum(5));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(other));
    return wrong;
}

int main(void) {
    cudaStream_t stream;
    struct work work;
    need_device();
    CHECK(cudaStreamCreate(&stream));
    prepare(&work);
    const int wrong = with_captured(stream, &work) + with_made(stream, &work);
    release(&work);
    CHECK(cudaStreamDestroy(stream));
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
