// User objects: who owns references, and when the destructor runs.
#include "capture_tools.hpp"

#include <atomic>

using namespace sim_test;

namespace {

// Counts destructions, and stores the status of an API call made by the destructor.
struct Target {
    std::atomic<int> destroyed{0};
    std::atomic<int> answer{-1};
    static void CUDA_CB destroy(void *pointer) {
        auto *target = static_cast<Target *>(pointer);
        CUgraph graph = nullptr;
        target->answer = driver().cuGraphCreate(&graph, 0);
        ++target->destroyed;
    }
};

CUuserObject make_object(Target &target, unsigned int references = 1) {
    return got<CUuserObject>(&Driver::cuUserObjectCreate, out, &target, Target::destroy, references,
                             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
}

void move_to(CUgraph graph, CUuserObject object, unsigned int count = 1) {
    require_ok(driver().cuGraphRetainUserObject(graph, object, count, CU_GRAPH_USER_OBJECT_MOVE));
}

} // namespace

TEST_CASE("releasing the last reference destroys a user object") {
    Target target;
    const CUuserObject object = make_object(target, 2);
    ok(driver().cuUserObjectRetain(object, 3));
    ok(driver().cuUserObjectRelease(object, 4));
    CHECK(target.destroyed == 0);
    CHECK(leaks().size() == 1);
    ok(driver().cuUserObjectRelease(object, 1));
    CHECK(target.destroyed == 1);
    CHECK(target.answer == CUDA_ERROR_NOT_PERMITTED);
    CHECK(reported(driver().cuUserObjectRelease(object, 1), "destroyed user object") == invalid);
    CHECK(target.destroyed == 1);
}

TEST_CASE("releasing or moving more references than the client holds is a misuse") {
    Target target;
    const CUuserObject object = make_object(target);
    const Graph graph;
    const std::string text = "references by a client that holds 1";
    CHECK(reported(driver().cuUserObjectRelease(object, 2), "release of 2 " + text) == invalid);
    CHECK(reported(driver().cuGraphRetainUserObject(graph, object, 2, CU_GRAPH_USER_OBJECT_MOVE),
                   "by a client that holds 1") == invalid);
    CHECK(target.destroyed == 0);
    ok(driver().cuUserObjectRelease(object, 1));
}

TEST_CASE("a graph cannot release more references than it owns") {
    Target target;
    const CUuserObject object = make_object(target, 2);
    const Graph graph;
    const auto released = [&](unsigned int count, const std::string &had) {
        return reported(driver().cuGraphReleaseUserObject(graph, object, count),
                        "release of 2 references by a graph that holds " + had);
    };
    ok(released(2, "0")); // CUDA releases those that there are, and succeeds
    CHECK(target.destroyed == 0);
    move_to(graph, object);
    ok(released(2, "1"));
    CHECK(target.destroyed == 0);
    ok(driver().cuUserObjectRelease(object, 1));
    CHECK(target.destroyed == 1);
}

TEST_CASE("clones, child graphs and executable graphs own references") {
    Target target;
    const CUgraph graph = make_graph(), parent = make_graph();
    move_to(graph, make_object(target));
    const CUgraph clone = clone_of(graph);
    const CUgraphNode node = add_child(parent, clone);
    const CUgraphExec exec = instantiate(parent);
    destroy(graph);
    destroy(clone);
    CHECK(target.destroyed == 0);
    SECTION("the executable graph is destroyed last") {
        destroy(parent);
        CHECK(target.destroyed == 0);
        destroy(exec);
        CHECK(target.destroyed == 1);
    }
    SECTION("the child graph is destroyed last") {
        destroy(exec);
        CHECK(target.destroyed == 0);
        ok(driver().cuGraphDestroyNode(node));
        CHECK(target.destroyed == 1);
        destroy(parent);
    }
}

TEST_CASE("an update replaces the references of an executable graph") {
    Target before, after;
    const CUgraph one = make_graph(), two = make_graph();
    const Graph three;
    move_to(one, make_object(before));
    move_to(two, make_object(after));
    add_empty(three);
    const CUgraphExec exec = instantiate(one);
    destroy(one);
    CHECK(before.destroyed == 0);
    CHECK(update(exec, three).status == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(before.destroyed == 0);
    CHECK(update(exec, two).status == CUDA_SUCCESS);
    CHECK(before.destroyed == 1);
    destroy(two);
    CHECK(after.destroyed == 0);
    destroy(exec);
    CHECK(after.destroyed == 1);
}

TEST_CASE("pending launches own references") {
    start(GENERATE(as<std::string>(), "mode=adversarial;seed=1", "mode=adversarial;seed=8"));
    Target target;
    RunOrder order;
    const Stream stream;
    const CUgraph graph = make_graph();
    add_note(graph, order, 1);
    move_to(graph, make_object(target));
    const CUgraphExec exec = instantiate(graph);
    require_ok(driver().cuGraphLaunch(exec, stream));
    require_ok(driver().cuGraphLaunch(exec, stream));
    destroy(exec);
    destroy(graph);
    CHECK(target.destroyed == 0);
    ok(driver().cuStreamSynchronize(stream));
    CHECK(order.ran().size() == 2);
    CHECK(target.destroyed == 1);
    CHECK(target.answer == CUDA_ERROR_NOT_PERMITTED);
}

TEST_CASE("a failed launch releases its references") {
    start("mode=adversarial;seed=1");
    const CUmodule module = load_failing_kernel();
    Target target;
    const CUgraph graph = make_graph();
    add_kernel(graph, kernel_parameters(function_of(module, "fails")));
    move_to(graph, make_object(target));
    const CUgraphExec exec = instantiate(graph);
    require_ok(driver().cuGraphLaunch(exec, nullptr));
    destroy(exec);
    destroy(graph);
    CHECK(target.destroyed == 0);
    CHECK(driver().cuStreamSynchronize(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    sim_control().drain();
    CHECK(target.destroyed == 1);
    sim_control().reset();
}

TEST_CASE("an invalidated capture releases the references of its graph") {
    Target target;
    const Stream stream(non_blocking);
    require_ok(begin_capture(stream));
    move_to(captured_graph(stream), make_object(target));
    CHECK(driver().cuStreamQuery(stream) == unsupported);
    CHECK(target.destroyed == 0);
    end_invalidated(stream);
    CHECK(target.destroyed == 1);
}

// Measured on driver 580, which does not return from cuGraphExecDestroy here.
TEST_CASE("a graph survives a reset of the primary context and then releases its references") {
    Target of_child, of_graph, of_clone;
    const CUgraph child = make_graph(), graph = make_graph();
    move_to(child, make_object(of_child));
    add_child(graph, child);
    destroy(child);
    const CUgraph clone = clone_of(graph);
    move_to(graph, make_object(of_graph));
    move_to(clone, make_object(of_clone));
    require_ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(nodes_of(graph).size() == 1);
    CHECK(of_graph.destroyed == 0);
    destroy(graph);
    CHECK(of_graph.destroyed == 1);
    CHECK(of_child.destroyed == 0);
    destroy(clone);
    CHECK(of_clone.destroyed == 1);
    CHECK(of_child.destroyed == 1);
}

TEST_CASE("destroying an executable graph after a reset of its context is a misuse") {
    const Graph graph;
    add_empty(graph);
    const CUgraphExec exec = instantiate(graph);
    require_ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(driver().cuGraphExecDestroy(exec) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    expect_misuse("destruction of an executable graph whose context was destroyed");
}
