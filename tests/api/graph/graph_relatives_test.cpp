// One thread at a time destroys, clones or instantiates graphs cloned from one another, since
// drivers do not lock their shared data (src/api/graph/relatives.hpp). On a GPU the tests with two
// threads crash if that fails.
#include "harness/graph_scenario.hpp"

#include <cushim/override.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <type_traits>

using namespace api_test;
using namespace cushim;

namespace {

std::atomic<int> calls_inside = 0;
std::atomic<int> most_inside = 0;

class Inside {
  public:
    Inside() {
        const int now = ++calls_inside;
        int most = most_inside;
        while (now > most && !most_inside.compare_exchange_weak(most, now)) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ~Inside() { --calls_inside; }
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;
};

// Counts and prolongs calls of the entry point during its lifetime.
template <class Entry, class Function = std::remove_pointer_t<typename Entry::pfn>>
class Counted;
template <class Entry, class Result, class... Arguments>
class Counted<Entry, Result(Arguments...)> {
  public:
    Counted() { real = override_.original(); }

  private:
    static Result call(Arguments... arguments) {
        const Inside inside;
        return real(arguments...);
    }
    static inline typename Entry::pfn real = nullptr;
    const ScopedOverride<Entry> override_{call};
};

// Every call that concerns relatives, on two threads.
void use_relatives(Api api, int rounds) {
    const Context context = ok(Context::primary(ok(Device::get(0))));
    Graph leaf = ok(create_graph(api, context));
    (void)ok(leaf.add_empty_node({}));
    for (int round = 0; round < rounds; ++round) {
        Parent parent = ok(make_parent(api, context, leaf));
        Graph clone = ok(parent.graph.clone());
        std::thread other([clone = std::move(clone)]() mutable {
            const Graph another = ok(clone.clone());
            GraphExec exec = ok(clone.instantiate());
            clone.reset();
        });
        {
            const Graph another = ok(parent.graph.clone());
            GraphExec exec = ok(parent.graph.instantiate());
            CHECK(exec.set_child_graph_node(parent.child, leaf).has_value());
            CHECK(parent.graph.destroy_node(parent.child).has_value());
        }
        parent.graph.reset();
        other.join();
    }
}

void check_one_at_a_time(Api api) {
    most_inside = 0;
    use_relatives(api, 10);
    wait_for_released_closures();
    CHECK(most_inside == 1);
}

void skip_on_gpu() {
    need_simulator("on a GPU the tests with two threads show this");
    restart("");
}

} // namespace

TEST_CASE("one thread at a time destroys, clones or instantiates a graph", "[graph]") {
    skip_on_gpu();
    const Counted<entry::cuGraphDestroy> destroy;
    const Counted<entry::cuGraphClone> clone;
    const Counted<entry::cuGraphDestroyNode> destroy_node;
    const Counted<entry::cuGraphAddChildGraphNode> add_child;
    const Counted<entry::cuGraphExecChildGraphNodeSetParams> set_child;
    const Counted<entry::cuGraphInstantiateWithFlags> instantiate;
    const Counted<entry::cuGraphExecDestroy> destroy_exec;
#if CUDA_VERSION >= 12000
    const Counted<entry::cuGraphInstantiateWithParams> instantiate_with_params;
#endif
    check_one_at_a_time(Api::driver);
}

TEST_CASE("one thread at a time destroys, clones or instantiates a graph (runtime)",
          "[graph][runtime][current]") {
    skip_on_gpu();
    const Counted<entry::cudaGraphDestroy> destroy;
    const Counted<entry::cudaGraphClone> clone;
    const Counted<entry::cudaGraphDestroyNode> destroy_node;
    const Counted<entry::cudaGraphAddChildGraphNode> add_child;
    const Counted<entry::cudaGraphExecChildGraphNodeSetParams> set_child;
    const Counted<entry::cudaGraphExecDestroy> destroy_exec;
#if CUDART_VERSION >= 12000
    const Counted<entry::cudaGraphInstantiateWithParams> instantiate;
#else
    const Counted<entry::cudaGraphInstantiate> instantiate;
#endif
    check_one_at_a_time(Api::runtime);
}

GRAPH_TEST_CASE("two threads use graphs cloned from one another", "[graph]", (Api api)) {
    restart("");
    use_relatives(api, simulator() == nullptr ? 2000 : 50);
}
