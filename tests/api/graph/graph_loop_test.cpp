// A while loop that its kernel ends with cudaGraphSetConditional of the device runtime, which the
// driver links to the kernel. The simulated kernel calls the simulator instead.
#include "examples/device_runtime.hpp"
#include "harness/graph_scenario.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>

#include <cstring>
#include <string>

#if CUDA_VERSION >= 12030
using namespace api_test;
using namespace cushim;

namespace {

const char loop_code[] = R"(
.version 8.0
.target sm_70
.address_size 64

.extern .func cudaGraphSetConditional
(
    .param .b64 handle,
    .param .b32 value
);

.visible .entry count_down(.param .u64 left_parameter, .param .u64 rounds_parameter,
                          .param .u64 condition)
{
    .reg .pred %more;
    .reg .b32 %n, %value;
    .reg .b64 %left, %rounds, %handle;

    ld.param.u64 %left, [left_parameter];
    ld.param.u64 %rounds, [rounds_parameter];
    ld.param.u64 %handle, [condition];
    cvta.to.global.u64 %left, %left;
    cvta.to.global.u64 %rounds, %rounds;
    ld.global.u32 %n, [%rounds];
    add.s32 %n, %n, 1;
    st.global.u32 [%rounds], %n;
    ld.global.u32 %n, [%left];
    add.s32 %n, %n, -1;
    st.global.u32 [%left], %n;
    setp.gt.s32 %more, %n, 0;
    selp.u32 %value, 1, 0, %more;
    {
        .param .b64 first;
        .param .b32 second;
        st.param.b64 [first], %handle;
        st.param.b32 [second], %value;
        call.uni cudaGraphSetConditional, (first, second);
    }
    ret;
}
)";

using CountDown = void(int *, int *, unsigned long long);

int run_count_down(const cushim_sim_launch *launch, void *) {
    std::uint64_t parameters[3];
    for (int i = 0; i < 3; ++i) {
        std::memcpy(&parameters[i], launch->parameters[i], sizeof parameters[i]);
    }
    auto *left = static_cast<int *>(simulator()->view(parameters[0], sizeof(int)));
    auto *rounds = static_cast<int *>(simulator()->view(parameters[1], sizeof(int)));
    if (left == nullptr || rounds == nullptr) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    ++*rounds;
    return simulator()->set_conditional(parameters[2], --*left > 0 ? 1 : 0);
}

Result<Library> load_loop(Trial &trial, const Context &context) {
    if (simulator() != nullptr) {
        simulator()->register_kernel("count_down", run_count_down, nullptr);
        return Library::load(loop_code);
    }
    const std::string runtime = example::find_device_runtime();
    if (runtime.empty()) {
        trial.skip("libcudadevrt.a not found: set CUDA_PATH to a toolkit");
    }
    CUSHIM_TRY(const auto scope, context.enter());
    example::Linker linker;
    CUSHIM_TRY(const CodeImage image, linker.link(loop_code, runtime));
    CUSHIM_TRY(Library library, Library::load(image));
    CUSHIM_TRY_VOID(linker.close());
    return library;
}

// A kernel that decrements `left` and increments `rounds`.
struct Parts {
    Context context;
    Stream stream;
    Kernel<CountDown> step;
    DeviceBuffer<int> left, rounds;

    static Result<Parts> make(Trial &trial) {
        Parts parts;
        CUSHIM_TRY(parts.context, trial.context());
        CUSHIM_TRY(parts.stream, Stream::create(parts.context));
        CUSHIM_TRY(const Library library, load_loop(trial, parts.context));
        CUSHIM_TRY(parts.step, library.kernel<CountDown>("count_down"));
        CUSHIM_TRY(parts.left, DeviceBuffer<int>::allocate(parts.context, 1));
        CUSHIM_TRY(parts.rounds, DeviceBuffer<int>::allocate(parts.context, 1));
        return parts;
    }

    // Adds the kernel, which sets `more` to whether `left` is positive.
    Result<GraphNode> add_step(Graph &graph, const GraphDependencies &after,
                               const GraphCondition &more) {
        return graph.add_kernel_node(after, step, {}, left, rounds, more.native());
    }

    // Launches the graph once and returns the value in `from`.
    Result<int> launch(const GraphExec &exec, const DeviceBuffer<int> &from) const {
        CUSHIM_TRY_VOID(exec.launch(stream));
        int found = -1;
        CUSHIM_TRY_VOID(copy(stream, std::span(&found, 1), from.span()));
        CUSHIM_TRY_VOID(stream.synchronize());
        return found;
    }
};

} // namespace

GRAPH_SCENARIO_TEST("a while loop runs until its kernel ends it", "[graph][conditional][G18]",
                    (Trial &trial, Api api)) {
    trial.needs_driver(12, 3);
    CUSHIM_TRY(Parts parts, Parts::make(trial));
    CUSHIM_TRY(Graph graph, create_graph(api, parts.context));
    CUSHIM_TRY(const auto more, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const GraphNode start, graph.add_memset_node({}, parts.left, 5));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node(start, parts.rounds, 0));
    CUSHIM_TRY(GraphBody loop, graph.add_while_node(clear, more));
    CUSHIM_TRY_VOID(parts.add_step(loop.body, {}, more));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    for (int launch = 0; launch < 2; ++launch) { // each launch begins with the initial value
        CUSHIM_TRY_VOID(check_gives(parts.launch(exec, parts.rounds), 5));
    }
    return {};
}

GRAPH_SCENARIO_TEST("a condition without an initial value keeps the previous launch's value",
                    "[graph][conditional][G18]", (Trial &trial, Api api)) {
    trial.needs_driver(12, 3);
    CUSHIM_TRY(Parts parts, Parts::make(trial));
    CUSHIM_TRY(auto mark, DeviceBuffer<int>::allocate(parts.context, 1));
    CUSHIM_TRY_VOID(fill(parts.context, parts.left.span(), 3));
    CUSHIM_TRY(Graph graph, create_graph(api, parts.context));
    // The initial value is not applied: the first launch begins with an undefined value.
    CUSHIM_TRY(const auto more, graph.create_condition({.initial = 1, .assign_initial = false}));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, mark, 0));
    CUSHIM_TRY(GraphBody branch, graph.add_if_node(clear, more));
    CUSHIM_TRY(const GraphNode set, branch.body.add_memset_node({}, mark, 7));
    CUSHIM_TRY(const GraphNode last, parts.add_step(graph, branch.node, more));
    CHECK((set && last));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(parts.stream));
    for (const int expected : {7, 7, 0, 0}) {
        CUSHIM_TRY_VOID(check_gives(parts.launch(exec, mark), expected));
    }
    return {};
}
#else
TEST_CASE("loops need headers of CUDA 12.3", "[graph]") {
    SKIP("the headers are older");
}
#endif
