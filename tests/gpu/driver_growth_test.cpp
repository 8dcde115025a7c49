// For each launched executable graph with a user object, the driver keeps some host memory
// permanently. The wrappers' executable graphs have none, so they leave nothing behind. Measured by
// mallinfo2, which is exact, unlike the size of the process in pages.
#include "cost.hpp"
#include "figure.hpp"

#include <cushim/runtime_graph.hpp>

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include <malloc.h>

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33) // has mallinfo2
using namespace cushim;
using cost::Gpu;
using support::ok;

namespace {

double bytes_held() {
    const auto all = mallinfo2();
    return static_cast<double>(all.uordblks + all.hblkhd);
}

// The growth per round in the part where it was smallest, which excludes one-time allocations.
template <class Round>
double growth(Round &&round) {
    constexpr int warm_up = 50, parts = 3, rounds = 300;
    for (int i = 0; i < warm_up; ++i) {
        round();
    }
    double least = std::numeric_limits<double>::max();
    for (int part = 0; part < parts; ++part) {
        const double before = bytes_held();
        for (int i = 0; i < rounds; ++i) {
            round();
        }
        least = std::min(least, (bytes_held() - before) / rounds);
    }
    return least;
}

// Drivers release user objects on a thread of their own, soon after the graph is destroyed.
template <class Condition>
void wait_until(Condition &&holds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > limit) {
            FAIL("a graph's resources were not released");
        }
        std::this_thread::yield();
    }
}

void launch_raw(const Gpu &gpu, CUgraph graph) {
    CUgraphExec exec = nullptr;
    ok(driver().cuGraphInstantiateWithFlags(&exec, graph, 0));
    ok(driver().cuGraphLaunch(exec, gpu.stream.native()));
    gpu.wait();
    ok(driver().cuGraphExecDestroy(exec));
}

void give_raw(CUgraph graph, std::atomic<bool> &is_gone) {
    CUuserObject object = nullptr;
    ok(driver().cuUserObjectCreate(
        &object, &is_gone, [](void *to) { *static_cast<std::atomic<bool> *>(to) = true; }, 1,
        CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
}

void raw_round(const Gpu &gpu, bool has_user_object) {
    std::atomic<bool> is_gone = !has_user_object;
    CUgraph graph = nullptr;
    ok(driver().cuGraphCreate(&graph, 0));
    CUDA_HOST_NODE_PARAMS call{};
    call.fn = [](void *) {};
    CUgraphNode node = nullptr;
    ok(driver().cuGraphAddHostNode(&node, graph, nullptr, 0, &call));
    if (has_user_object) {
        give_raw(graph, is_gone);
    }
    launch_raw(gpu, graph);
    ok(driver().cuGraphDestroy(graph));
    wait_until([&] { return is_gone.load(); });
}

void wrapped_round(const Gpu &gpu, Api api) {
    const auto kept = std::make_shared<int>();
    {
        Graph graph =
            ok(api == Api::runtime ? rt::create_graph(gpu.context) : Graph::create(gpu.context));
        ok(graph.add_host_node({}, [kept] {}));
        const GraphExec exec = ok(graph.instantiate());
        ok(exec.launch(gpu.stream));
        gpu.wait();
    }
    wait_until([&] { return kept.use_count() == 1; });
    wait_for_released_closures();
}

void report(const std::string &graph, double bytes) {
    gpu_test::figure("host memory that the driver keeps per launched graph, " + graph, bytes,
                     "bytes");
}

void compare(const Gpu &gpu, Api api, double bare) {
    const double wrapped = growth([&] { wrapped_round(gpu, api); });
    report(std::string("wrapper, ") + (api == Api::runtime ? "runtime API" : "driver API"),
           wrapped);
    CHECK(wrapped <= bare + 16);
}

} // namespace

TEST_CASE("wrapped graphs that keep resources leave no more host memory behind than raw graphs "
          "that keep none",
          "[gpu]") {
    const Gpu gpu;
    const double bare = growth([&] { raw_round(gpu, false); });
    report("raw calls", bare);
    const double raw = growth([&] { raw_round(gpu, true); });
    report("raw calls, with a user object", raw);
    compare(gpu, Api::driver, bare);
    if (load_runtime()) {
        compare(gpu, Api::runtime, bare);
    }
}

TEST_CASE("the measurement notices a leak of 24 bytes", "[gpu]") {
    static std::atomic<void *> last; // otherwise compilers remove the allocation
    CHECK(growth([] { last = std::malloc(24); }) > 16);
}
#else
TEST_CASE("the host memory that graphs leave behind is measured", "[gpu]") {
    SKIP("needs mallinfo2 (glibc 2.33 or newer)");
}
#endif
