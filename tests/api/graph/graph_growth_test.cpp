// The cost of a graph grows linearly with the number of its nodes: on the simulator, the number of
// calls and the time of the wrapper. tests/gpu/graph_cost_test.cpp is the same for a GPU.
#include "harness/simulator.hpp"

#include <cushim/context.hpp>
#include <cushim/graph.hpp>
#include <cushim/stream.hpp>

#include "support/graph_chains.hpp"
#include "support/ok.hpp"
#include "support/sanitizers.h"

#if CUDA_VERSION >= 12000
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

using namespace api_test;
using namespace cushim;
using chains::NodeKind;
using chains::Parts;

namespace {

Context restarted() {
    need_simulator("needs the simulator, on which the growth of host memory is measured");
    restart("");
    return ok(Context::primary(ok(Device::get(0))));
}

// --- calls

class Calls {
  public:
    Calls() { simulator()->log_calls(1); }
    ~Calls() { simulator()->log_calls(0); }
    Calls(const Calls &) = delete;
    Calls &operator=(const Calls &) = delete;

    // The number of calls since the last take().
    std::size_t take() const {
        wait_for_released_closures();
        const std::size_t count = simulator()->call_count();
        simulator()->clear_calls();
        return count;
    }
};

// Numbers of calls for a graph with thousands of nodes.
struct CallCounts {
    std::size_t first_thousand = 0;
    std::size_t last_thousand = 0;
    std::size_t instantiating = 0;
    std::size_t launching = 0;
    std::size_t destroying = 0;
};

CallCounts calls_of(Api api, int thousands, const Stream &stream, Parts &parts) {
    CallCounts counts;
    const Calls calls;
    Graph graph = chains::create(api, parts.context);
    GraphNode last;
    for (int thousand = 1; thousand <= thousands; ++thousand) {
        (void)calls.take();
        last = chains::append(graph, last, NodeKind::mixed, 1000, parts);
        counts.last_thousand = calls.take();
        if (thousand == 1) {
            counts.first_thousand = counts.last_thousand;
        }
    }
    GraphExec exec = ok(graph.instantiate());
    counts.instantiating = calls.take();
    const auto launched = exec.launch(stream);
    counts.launching = calls.take();
    exec.reset();
    graph.reset();
    counts.destroying = calls.take();
    CHECK(launched.has_value());
    return counts;
}

void check_calls(Api api) {
    const Context context = restarted();
    const ContextScope scope = ok(context.enter());
    const Stream stream = ok(Stream::create(context));
    Parts parts(context);
    (void)calls_of(api, 1, stream, parts); // the first use loads libraries
    const CallCounts few = calls_of(api, 1, stream, parts);
    const CallCounts many = calls_of(api, 20, stream, parts);
    CHECK(many.first_thousand == few.first_thousand);
    CHECK(many.last_thousand <= many.first_thousand);
    CHECK(many.instantiating == few.instantiating);
    CHECK(many.launching == few.launching);
    CHECK(many.destroying == few.destroying);
    std::printf("%s: %.3f calls a node, %zu to instantiate, %zu to launch, %zu to destroy\n",
                chains::name(api), static_cast<double>(many.last_thousand) / 1000,
                many.instantiating, many.launching, many.destroying);
}

// --- times

// Microseconds of processor time of all threads.
template <class Work>
double time_of(const Work &work) {
    const std::clock_t begin = std::clock();
    work();
    return static_cast<double>(std::clock() - begin) * 1e6 / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <class RawCalls>
void raw_life(std::size_t nodes, const Stream &stream, Parts &parts) {
    const CUgraph graph = chains::build_raw<RawCalls>(NodeKind::mixed, nodes, parts);
    const CUgraphExec exec = RawCalls::instantiate(graph);
    RawCalls::launch(exec, stream.native());
    RawCalls::destroy(exec);
    RawCalls::destroy(graph);
}

void wrapped_life(Api api, std::size_t nodes, const Stream &stream, Parts &parts) {
    Graph graph = chains::build(api, NodeKind::mixed, nodes, parts);
    GraphExec exec = ok(graph.instantiate());
    CHECK(exec.launch(stream).has_value());
    exec.reset();
    graph.reset();
    wait_for_released_closures();
}

// Median microseconds for each node, from the creation of the graph to its destruction.
struct Cost {
    double raw;  // of the simulator
    double more; // of the wrapper
};

template <class RawCalls>
Cost cost_of(std::size_t nodes, int rounds, const Stream &stream, Parts &parts) {
    std::vector<double> raw, more;
    for (int round = 0; round < rounds; ++round) {
        const double of_raw = time_of([&] { raw_life<RawCalls>(nodes, stream, parts); });
        const double wrapped = time_of([&] { wrapped_life(RawCalls::api, nodes, stream, parts); });
        raw.push_back(of_raw);
        more.push_back(wrapped - of_raw);
    }
    const auto count = static_cast<double>(nodes);
    const Cost cost{median(raw) / count, median(more) / count};
    std::printf("%s, %6zu nodes: raw %6.2f us a node, the wrapper %+.2f us\n",
                chains::name(RawCalls::api), nodes, cost.raw, cost.more);
    return cost;
}

template <class RawCalls>
void check_times() {
#ifdef TEST_ADDRESS_SANITIZER
    SKIP("times with AddressSanitizer are not meaningful");
#endif
    const Context context = restarted();
    const ContextScope scope = ok(context.enter());
    const Stream stream = ok(Stream::create(context));
    Parts parts(context);
    raw_life<RawCalls>(1000, stream, parts); // the first use loads libraries
    const Cost few = cost_of<RawCalls>(1'000, 9, stream, parts);
    (void)cost_of<RawCalls>(10'000, 1, stream, parts);
    const Cost many = cost_of<RawCalls>(100'000, 1, stream, parts);
    // A factor of 5 allows for cache misses of larger tables. Quadratic growth would be a factor of
    // 100.
    CHECK(many.raw <= 5 * few.raw);
    CHECK(many.more <= 5 * std::max(few.more, few.raw / 5));
}

} // namespace

TEST_CASE("every node of a graph costs as many calls as the first", "[graph][growth][current]") {
    check_calls(Api::driver);
}
TEST_CASE("every node of a graph costs as many calls as the first (runtime)",
          "[graph][growth][runtime][current]") {
    check_calls(Api::runtime);
}

TEST_CASE("the cost of a graph grows no faster than its number of nodes",
          "[graph][growth][current]") {
    check_times<chains::DriverCalls>();
}
TEST_CASE("the cost of a graph grows no faster than its number of nodes (runtime)",
          "[graph][growth][runtime][current]") {
    check_times<chains::RuntimeCalls>();
}
#else
TEST_CASE("chains of library kernels need headers of CUDA 12.0", "[graph]") {
    SKIP("the headers are older");
}
#endif
