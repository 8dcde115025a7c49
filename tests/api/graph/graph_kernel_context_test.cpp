// Kernels of a module in graphs, on a thread that has no current context: driver 580 ends the
// process where one is added without.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"

#include <string>
#include <vector>

using namespace api_test;
using namespace cushim;
using support::ok;

namespace {

bool is_of_kernel_node(const std::string &call) {
    return call.find("KernelNode") != std::string::npos || call.starts_with("cuGraphAddNode");
}

// That all of what `work` calls for kernel nodes, which is something, is called inside a scope.
template <class Work>
void check_in_context(const Work &work) {
    const std::vector<std::string> calls = calls_in(work);
    if (simulator() == nullptr) {
        return; // that the process is still there is what is shown
    }
    int entered = 0, found = 0;
    for (const std::string &call : calls) {
        entered += call.starts_with("cuCtxPushCurrent") ? 1 : 0;
        entered -= call.starts_with("cuCtxPopCurrent") ? 1 : 0;
        if (is_of_kernel_node(call)) {
            ++found;
            INFO(call);
            CHECK(entered == 1);
        }
    }
    CHECK(found > 0);
    CHECK(entered == 0);
}

// A kernel of a module, and nothing current.
struct Parts {
    Context context;
    Graph graph;
    Kernel<void()> idle;
};

Parts make_parts() {
    auto [context, graph] = make_graph(Api::driver);
    const Module module = ok(load_device_code(context));
    const auto idle = ok(module.kernel<void()>("idle"));
    REQUIRE(driver().cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    return {std::move(context), std::move(graph), idle.share()};
}

const LaunchConfig plain = LaunchConfig::covering(1);

} // namespace

TEST_CASE("a module's kernel is added in the graph's context", "[graph][G11]") {
    const auto [context, graph, idle] = make_parts();
    check_in_context([&, &to = graph, &kernel = idle] {
        const GraphNode node = ok(to.add_kernel_node({}, kernel, plain));
        ok(to.set_kernel_node(node, kernel, LaunchConfig::covering(2)));
        ok(ok(to.clone()).add_kernel_node({}, kernel, plain));
    });
}

TEST_CASE("a module's kernel is changed in the executable graph's context", "[graph][G11][G25]") {
    const auto [context, graph, idle] = make_parts();
    const GraphNode node = ok(graph.add_kernel_node({}, idle, plain));
    const GraphExec exec = ok(graph.instantiate());
    check_in_context([&exec, &node, &kernel = idle] {
        ok(exec.set_kernel_node(node, kernel, LaunchConfig::covering(2)));
    });
}

TEST_CASE("attributes of a module's kernel are changed in the graph's context",
          "[graph][G11][current]") {
    need_cuda(11, 8);
    const auto [context, graph, idle] = make_parts();
    LaunchConfig cooperative = plain;
    cooperative.cooperative = true;
    check_in_context([&, &to = graph, &kernel = idle] {
        const GraphNode node = ok(to.add_kernel_node({}, kernel, cooperative));
        ok(to.set_kernel_node(node, kernel, plain));
        ok(to.set_kernel_node(node, kernel, cooperative)); // keeps a copy of the node meanwhile
    });
}

#if CUDA_VERSION >= 12020
TEST_CASE("a module's kernel is added with CUDA's parameters in the graph's context",
          "[graph][G19][current]") {
    const auto [context, graph, idle] = make_parts();
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
    parameters.kernel.func = idle.native();
    parameters.kernel.gridDimX = parameters.kernel.gridDimY = parameters.kernel.gridDimZ = 1;
    parameters.kernel.blockDimX = parameters.kernel.blockDimY = parameters.kernel.blockDimZ = 1;
    check_in_context([&parameters, &to = graph] { (void)ok(to.add_node_raw({}, &parameters)); });
}
#endif
