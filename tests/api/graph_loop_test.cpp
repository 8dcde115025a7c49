// A while loop that its own kernel ends, by CUDA's device runtime, which the driver links to the kernel. The
// simulator's kernel runs on the host and says it to the simulator.
#include "harness/graph_scenario.hpp"
#include "harness/simulator.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#if CUDA_VERSION >= 12030
using namespace cushim;
using api_test::create_graph;

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

.visible .entry count_down(.param .u64 left_parameter, .param .u64 rounds_parameter, .param .u64 condition)
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
    auto *left = static_cast<int *>(api_test::simulator()->view(parameters[0], sizeof(int)));
    auto *rounds = static_cast<int *>(api_test::simulator()->view(parameters[1], sizeof(int)));
    if (left == nullptr || rounds == nullptr) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    ++*rounds;
    return api_test::simulator()->set_conditional(parameters[2], --*left > 0 ? 1 : 0);
}

// The toolkit's, or an empty name.
std::string device_runtime() {
    for (const char *variable : {"CUDA_PATH", "CUDA_HOME", "no such variable"}) {
        const char *root = std::getenv(variable);
        const std::string path =
            std::string(root != nullptr ? root : "/usr/local/cuda") + "/lib64/libcudadevrt.a";
        if (std::FILE *file = std::fopen(path.c_str(), "rb")) {
            std::fclose(file);
            return path;
        }
    }
    return {};
}

// What the driver's linker makes of PTX and the device runtime.
class Linked {
  public:
    Linked(const Linked &) = delete;
    Linked &operator=(const Linked &) = delete;
    explicit Linked(const std::string &runtime) {
        CHECK(driver().cuLinkCreate(0, nullptr, nullptr, &state_) == CUDA_SUCCESS);
        CHECK(driver().cuLinkAddData(state_, CU_JIT_INPUT_PTX, const_cast<char *>(loop_code),
                                     sizeof loop_code, "count_down", 0, nullptr,
                                     nullptr) == CUDA_SUCCESS);
        CHECK(driver().cuLinkAddFile(state_, CU_JIT_INPUT_LIBRARY, runtime.c_str(), 0, nullptr,
                                     nullptr) == CUDA_SUCCESS);
        CHECK(driver().cuLinkComplete(state_, &code_, &size_) == CUDA_SUCCESS);
    }
    ~Linked() { CHECK(driver().cuLinkDestroy(state_) == CUDA_SUCCESS); }

    CodeImage image() const { return {code_, size_}; }

  private:
    CUlinkState state_ = nullptr;
    void *code_ = nullptr;
    std::size_t size_ = 0;
};

Result<Library> load_loop(api_test::Trial &trial, const Context &context) {
    if (api_test::simulator() != nullptr) {
        api_test::simulator()->register_kernel("count_down", run_count_down, nullptr);
        return Library::load(loop_code);
    }
    const std::string runtime = device_runtime();
    if (runtime.empty()) {
        trial.skip("there is no libcudadevrt.a: set CUDA_PATH to a toolkit");
    }
    CUSHIM_TRY(const auto scope, context.enter());
    const Linked linked(runtime);
    return Library::load(linked.image());
}

} // namespace

GRAPH_SCENARIO_TEST("a while loop runs until its kernel ends it", "[graph][conditional][G18]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const Library library, load_loop(trial, context));
    CUSHIM_TRY(const auto step, library.kernel<CountDown>("count_down"));
    CUSHIM_TRY(const auto left, DeviceBuffer<int>::allocate(context, 1));
    CUSHIM_TRY(const auto rounds, DeviceBuffer<int>::allocate(context, 1));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto more, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const GraphNode start, graph.add_memset_node({}, left, 5));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node(start, rounds, 0));
    CUSHIM_TRY(const GraphBody loop, graph.add_while_node(clear, more));
    CUSHIM_TRY(const GraphNode body,
               loop.body.add_kernel_node({}, step, {}, left, rounds, more.native()));
    (void)body;
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    for (int launch = 0; launch < 2; ++launch) { // each begins with the condition's initial value
        CUSHIM_TRY_VOID(exec.launch(stream));
        int found = 0;
        CUSHIM_TRY_VOID(copy(stream, std::span(&found, 1), rounds.span()));
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(found == 5);
    }
    return {};
}

GRAPH_SCENARIO_TEST("a condition without an initial value keeps that of the launch before",
                    "[graph][conditional][G18]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const Library library, load_loop(trial, context));
    CUSHIM_TRY(const auto step, library.kernel<CountDown>("count_down"));
    CUSHIM_TRY(const auto left, DeviceBuffer<int>::allocate(context, 1));
    CUSHIM_TRY(const auto rounds, DeviceBuffer<int>::allocate(context, 1));
    CUSHIM_TRY(const auto mark, DeviceBuffer<int>::allocate(context, 1));
    CUSHIM_TRY_VOID(fill(context, left.span(), 3));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    // Not applied: the first of these launches begins with whatever value.
    CUSHIM_TRY(const auto more, graph.create_condition({.initial = 1, .assign_initial = false}));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, mark, 0));
    CUSHIM_TRY(const GraphBody branch, graph.add_if_node(clear, more));
    CUSHIM_TRY(const GraphNode set, branch.body.add_memset_node({}, mark, 7));
    CUSHIM_TRY(const GraphNode last,
               graph.add_kernel_node(branch.node, step, {}, left, rounds, more.native()));
    CHECK((set && last));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    for (const int expected : {7, 7, 0, 0}) {
        CUSHIM_TRY_VOID(exec.launch(stream));
        int found = -1;
        CUSHIM_TRY_VOID(copy(stream, std::span(&found, 1), mark.span()));
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(found == expected);
    }
    return {};
}
#else
TEST_CASE("loops need headers of CUDA 12.3", "[graph]") {
    SKIP("these are older");
}
#endif
