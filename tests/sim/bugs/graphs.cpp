// Captures and graphs.
#include "tools.hpp"

#include <thread>

namespace bugs {
namespace {

constexpr std::size_t count = 16, bytes = count * sizeof(int);

void instantiate_and_launch(cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphExec_t executable = nullptr;
    if (cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess) {
        ignore(cudaGraphLaunch(executable, stream));
        ignore(cudaStreamSynchronize(stream));
        ignore(cudaGraphExecDestroy(executable));
    }
}

void no_op(void *) {}

} // namespace

void add_graph_bugs(Programs &programs) {
    programs["a capture is not ended"] = [](bool buggy) {
        DeviceMemory memory(bytes);
        Stream stream;
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        must(cudaMemsetAsync(memory, 0, bytes, stream));
        if (!buggy) {
            cudaGraph_t graph = nullptr;
            must(cudaStreamEndCapture(stream, &graph));
            must(cudaGraphDestroy(graph));
        }
    };
    // The capture is then invalid, and ends with a null graph.
    programs["a captured stream is synchronized"] = [](bool buggy) {
        DeviceMemory memory(bytes);
        Stream stream;
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        must(cudaMemsetAsync(memory, 0, bytes, stream));
        if (buggy) {
            ignore(cudaStreamSynchronize(stream));
        }
        cudaGraph_t graph = nullptr;
        ignore(cudaStreamEndCapture(stream, &graph));
        instantiate_and_launch(graph, stream);
        ignore(cudaGraphDestroy(graph));
    };
    programs["a thread allocates during the capture of another"] = [](bool buggy) {
        DeviceMemory memory(bytes);
        Stream stream;
        must(cudaStreamBeginCapture(stream, buggy ? cudaStreamCaptureModeGlobal
                                                  : cudaStreamCaptureModeThreadLocal));
        std::thread([] {
            void *other = nullptr;
            if (cudaMalloc(&other, bytes) == cudaSuccess) {
                must(cudaFree(other));
            }
        }).join();
        ignore(cudaMemsetAsync(memory, 0, bytes, stream));
        cudaGraph_t graph = nullptr;
        ignore(cudaStreamEndCapture(stream, &graph));
        instantiate_and_launch(graph, stream);
        ignore(cudaGraphDestroy(graph));
    };
    programs["a captured stream does not join its origin"] = [](bool buggy) {
        DeviceMemory memory(bytes);
        Stream origin, side;
        Event fork, join;
        must(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
        must(cudaEventRecord(fork, origin));
        must(cudaStreamWaitEvent(side, fork, 0));
        must(cudaMemsetAsync(memory, 0, bytes, side));
        must(cudaEventRecord(join, side));
        if (!buggy) {
            must(cudaStreamWaitEvent(origin, join, 0));
        }
        cudaGraph_t graph = nullptr;
        ignore(cudaStreamEndCapture(origin, &graph));
        instantiate_and_launch(graph, origin);
        ignore(cudaGraphDestroy(graph));
    };
    programs["a node of a destroyed graph is used"] = [](bool buggy) {
        cudaGraph_t graph = nullptr;
        cudaGraphNode_t node = nullptr;
        must(cudaGraphCreate(&graph, 0));
        must(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
        if (buggy) {
            must(cudaGraphDestroy(graph));
        }
        cudaGraphNodeType type{};
        ignore(cudaGraphNodeGetType(node, &type));
        if (!buggy) {
            must(cudaGraphDestroy(graph));
        }
    };
    programs["a graph is launched after its memory was freed"] = [](bool buggy) {
        Stream stream;
        void *memory = allocated(bytes);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        must(cudaMemsetAsync(memory, 0, bytes, stream));
        must(cudaStreamEndCapture(stream, &graph));
        must(cudaGraphInstantiate(&executable, graph, 0));
        if (buggy) {
            must(cudaFree(memory));
        }
        ignore(cudaGraphLaunch(executable, stream));
        ignore(cudaStreamSynchronize(stream));
        if (!buggy) {
            must(cudaFree(memory));
        }
        must(cudaGraphExecDestroy(executable));
        must(cudaGraphDestroy(graph));
    };
    programs["an executable graph is launched after its destruction"] = [](bool buggy) {
        Stream stream;
        cudaGraph_t graph = nullptr;
        cudaGraphNode_t node = nullptr;
        cudaGraphExec_t executable = nullptr;
        must(cudaGraphCreate(&graph, 0));
        must(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
        must(cudaGraphInstantiate(&executable, graph, 0));
        must(cudaGraphDestroy(graph));
        if (buggy) {
            must(cudaGraphExecDestroy(executable));
        }
        ignore(cudaGraphLaunch(executable, stream));
        ignore(cudaStreamSynchronize(stream));
        if (!buggy) {
            must(cudaGraphExecDestroy(executable));
        }
    };
    // The graph copies from the variable at each launch, not at its capture.
    programs["a captured copy reads a variable that has changed"] = [](bool buggy) {
        DeviceMemory memory(2 * sizeof(int));
        Stream stream;
        Pinned values(2, 0);
        cudaGraph_t graph = nullptr;
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < 2; ++i) {
            int *const value = buggy ? &values[0] : &values[i];
            *value = 5 + i;
            must(cudaMemcpyAsync(static_cast<char *>(static_cast<void *>(memory)) + i * sizeof(int),
                                 value, sizeof(int), cudaMemcpyHostToDevice, stream));
        }
        must(cudaStreamEndCapture(stream, &graph));
        instantiate_and_launch(graph, stream);
        int result[2] = {};
        must(cudaMemcpy(result, memory, sizeof result, cudaMemcpyDeviceToHost));
        check(result[0] == 5);
        must(cudaGraphDestroy(graph));
    };
    programs["a user object is released too often"] = [](bool buggy) {
        cudaUserObject_t object = nullptr;
        must(cudaUserObjectCreate(&object, nullptr, no_op, 1, cudaUserObjectNoDestructorSync));
        must(cudaUserObjectRelease(object, 1));
        if (buggy) {
            ignore(cudaUserObjectRelease(object, 1));
        }
    };
}

} // namespace bugs
