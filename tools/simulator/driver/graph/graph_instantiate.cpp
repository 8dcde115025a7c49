// Instantiation and destruction of executable graphs.
#include "call/settings.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/graph_memory.hpp"
#include "engine/work.hpp"
#include "graph/graph_launch.hpp"
#include "graph/graph_plan.hpp"

#include <cstring>
#include <string>

namespace sim {
namespace {

// Flags, by number: headers and drivers have them from different versions on.
constexpr unsigned long long auto_free = 1, upload = 2, device_launch = 4, node_priority = 8;

unsigned long long known_flags() {
    const int version = driver_version();
    return auto_free | (version >= 11070 ? node_priority : 0) |
           (version >= 12000 ? device_launch : 0);
}

void add_references(References &references, const Graph &graph) {
    references.add(graph.references);
    for (const Node *node : graph.nodes) {
        for (const CUgraph inner : node->graphs) {
            add_references(references, *inner);
        }
    }
}

// May throw a PlanProblem.
Exec &instantiate(CUgraph handle, unsigned long long flags) {
    Context &context = current_context();
    Graph &graph = graph_of(handle);
    if ((flags & ~known_flags()) != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid instantiation flags: 0x%llx", flags);
    }
    require((flags & auto_free) == 0 || (flags & device_launch) == 0);
    auto plan = make_plan(graph, flags);
    const bool only = graph.memory_nodes != 0;
    if (only && !graph.exec.expired()) {
        throw PlanProblem{1, CUDA_ERROR_NOT_SUPPORTED, nullptr,
                          "a graph with memory nodes has an executable graph already"};
    }
    Exec &exec = *Registry::get().make<Exec>(context, flags);
    exec.plan = std::move(plan);
    exec.references = references_of(graph);
    if (only) {
        exec.only = std::make_shared<KeptMemory>();
        graph.exec = exec.only;
    }
    return exec;
}

void write_log(char *buffer, std::size_t size, const std::string &text) {
    if (buffer != nullptr && size != 0) {
        const std::size_t length = std::min(size - 1, text.size());
        std::memcpy(buffer, text.data(), length);
        buffer[length] = '\0';
    }
}

} // namespace

std::shared_ptr<References> references_of(const Graph &graph) {
    auto references = std::make_shared<References>();
    add_references(*references, graph);
    return references;
}

namespace driver {

EXPORT CUresult cuGraphInstantiate_v2(OUT CUgraphExec *phGraphExec, CUgraph hGraph,
                                      CUgraphNode *phErrorNode, char *logBuffer,
                                      size_t bufferSize) {
    require(phGraphExec != nullptr);
    CUgraphNode wrong = nullptr;
    std::string log;
    CUresult status = CUDA_SUCCESS;
    try {
        *phGraphExec = &instantiate(hGraph, 0);
    } catch (const PlanProblem &problem) {
        wrong = problem.node;
        log = problem.text;
        status = problem.status;
    }
    if (phErrorNode != nullptr) {
        *phErrorNode = wrong;
    }
    write_log(logBuffer, bufferSize, log);
    return status;
}

// The version of CUDA 10.0, with the same signature.
EXPORT CUresult cuGraphInstantiate(OUT CUgraphExec *phGraphExec, CUgraph hGraph,
                                   CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize) {
    return driver::cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

EXPORT CUresult cuGraphInstantiateWithFlags(OUT CUgraphExec *output, CUgraph graph,
                                            unsigned long long flags) {
    require(output != nullptr);
    try {
        *output = &instantiate(graph, flags);
    } catch (const PlanProblem &problem) {
        return problem.status;
    }
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
EXPORT CUresult cuGraphInstantiateWithParams(OUT CUgraphExec *phGraphExec, CUgraph hGraph,
                                             CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams) {
    require(phGraphExec != nullptr && instantiateParams != nullptr);
    CUDA_GRAPH_INSTANTIATE_PARAMS &parameters = *instantiateParams;
    parameters.hErrNode_out = nullptr;
    parameters.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    potentially_unsafe_call();
    Exec *exec = nullptr;
    try {
        exec = &instantiate(hGraph, parameters.flags & ~upload);
        if ((parameters.flags & upload) != 0) {
            upload_graph(*exec, stream_of(parameters.hUploadStream));
        }
    } catch (const PlanProblem &problem) {
        parameters.hErrNode_out = problem.node;
        parameters.result_out = static_cast<CUgraphInstantiateResult>(problem.result);
        return problem.status;
    } catch (...) {
        if (exec != nullptr) {
            Registry::get().destroy(exec);
        }
        throw;
    }
    *phGraphExec = exec;
    parameters.result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, OUT cuuint64_t *flags) {
    const Exec &exec = exec_of(hGraphExec);
    require(flags != nullptr);
    // Recorded: the upload and node priority flags are not returned.
    *flags = exec.flags & (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                           CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
    // Recorded: the driver does not return from this call after a reset of the primary context.
    Registry::get().note_use_after_context(
        hGraphExec, "destruction of an executable graph whose context was destroyed");
    Registry::get().destroy(&exec_of(hGraphExec)); // running launches keep their own reference
    run_user_destructors();
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
