// Graphs with work on several devices: child graphs, captures, copies, memory and conditional
// nodes. One launch runs all of it, in a stream of any device.
#include "harness/devices.hpp"
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "support/child_process.hpp"

#include <cushim/graph_conditional.hpp>

#include <algorithm>
#include <cstdio>

using namespace api_test;
using namespace cushim;

namespace {

using Words = DeviceBuffer<int>;

constexpr std::size_t count = 10'000;

// A buffer on each device, filled with -1.
std::vector<Words> buffers(const Workers &made) {
    std::vector<Words> all;
    for (const Worker &worker : made.all) {
        all.push_back(ok(Words::allocate(worker.context, count)));
        ok(fill(worker.context, all.back().span(), -1));
    }
    return all;
}

void clear(const Workers &made, std::vector<Words> &memory) {
    for (std::size_t index = 0; index < memory.size(); ++index) {
        ok(fill(made.all[index].context, memory[index].span(), -1));
    }
}

bool holds(const Worker &worker, const Words &memory, int value) {
    return ok(worker.read(memory.span())) == std::vector<int>(memory.size(), value);
}

// Adds a kernel that fills the memory; a memset to a runtime graph with headers before CUDA 12,
// which have no kernels for it.
GraphNode add_fill(Graph &graph, const GraphDependencies &after, const Worker &worker,
                   Words &memory, int value) {
    const auto size = static_cast<unsigned int>(memory.size());
    const LaunchConfig config = LaunchConfig::covering(size);
    if (graph.api() == Api::driver) {
        const auto kernel = ok(worker.code.kernel<Fill>("fill"));
        return ok(graph.add_kernel_node(after, kernel, config, memory, value, size));
    }
#if CUDA_VERSION >= 12000
    const Library library = ok(Library::load(device_code));
    const auto kernel = ok(library.kernel<Fill>("fill"));
    return ok(graph.add_kernel_node(after, kernel, config, memory, value, size));
#else
    return ok(graph.add_memset_node(after, memory, value));
#endif
}

// A graph of this device that fills the memory.
Graph fill_graph(Api api, const Worker &worker, Words &memory, int value) {
    Graph graph = ok(create_graph(api, worker.context));
    (void)add_fill(graph, {}, worker, memory, value);
    return graph;
}

void launch_in(const Worker &worker, const GraphExec &exec) {
    ok(exec.launch(worker.stream));
    ok(worker.stream.synchronize());
}

} // namespace

// --- child graphs

GRAPH_TEST_CASE("one launch runs child graphs of all devices in order", "[graph][several_devices]",
                (Api api)) {
    const Workers made = many_workers();
    auto filled = buffers(made), passed = buffers(made);
    Graph graph = ok(create_graph(api, made.all[0].context));
    GraphNode before = ok(graph.add_memset_node({}, passed[0], 5));
    for (std::size_t index = 0; index < made.all.size(); ++index) {
        const Worker &worker = made.all[index];
        Graph child = fill_graph(api, worker, filled[index], 100 + static_cast<int>(index));
        if (index + 1 < made.all.size()) {
            (void)ok(child.add_memcpy_node({}, passed[index + 1], passed[index].span()));
        }
        before = ok(graph.add_child_graph_node(before, child));
    }
    GraphExec exec = ok(graph.instantiate());
    const GraphExec of_clone = ok(ok(graph.clone()).instantiate());
    for (const Worker &launcher : made.all) {
        INFO("launched in a stream of device " << launcher.device.native());
        for (const GraphExec *each : {&std::as_const(exec), &of_clone}) {
            clear(made, filled);
            clear(made, passed);
            launch_in(launcher, *each);
            for (std::size_t index = 0; index < made.all.size(); ++index) {
                INFO("device " << index);
                CHECK(holds(made.all[index], filled[index], 100 + static_cast<int>(index)));
                CHECK(holds(made.all[index], passed[index], 5));
            }
        }
    }
    CHECK(misuses().empty());
}

GRAPH_TEST_CASE("an executable graph's child graph of another device is changed",
                "[graph][several_devices]", (Api api)) {
    const Workers made = many_workers();
    auto memory = buffers(made);
    Graph graph = ok(create_graph(api, made.all[0].context));
    std::vector<GraphNode> nodes;
    for (std::size_t index = 0; index < made.all.size(); ++index) {
        nodes.push_back(
            ok(graph.add_child_graph_node({}, fill_graph(api, made.all[index], memory[index], 1))));
    }
    GraphExec exec = ok(graph.instantiate());
    for (std::size_t changed = 0; changed < made.all.size(); ++changed) {
        ok(exec.set_child_graph_node(nodes[changed],
                                     fill_graph(api, made.all[changed], memory[changed], 2)));
        clear(made, memory);
        launch_in(made.all[0], exec);
        for (std::size_t index = 0; index < made.all.size(); ++index) {
            INFO("device " << index << ", changed up to " << changed);
            CHECK(holds(made.all[index], memory[index], index <= changed ? 2 : 1));
        }
    }
}

// A kernel node of a module runs in the context of the module.
TEST_CASE("one graph has kernel nodes of the modules of all devices", "[graph][several_devices]") {
    const Workers made = many_workers();
    auto memory = buffers(made);
    Graph graph = ok(Graph::create(made.all[0].context));
    GraphNode before;
    for (std::size_t index = 0; index < made.all.size(); ++index) {
        const GraphDependencies after = index == 0 ? GraphDependencies() : before;
        before = add_fill(graph, after, made.all[index], memory[index], static_cast<int>(index));
    }
    GraphExec exec = ok(graph.instantiate());
    for (const Worker &launcher : made.all) {
        INFO("launched in a stream of device " << launcher.device.native());
        clear(made, memory);
        launch_in(launcher, exec);
        for (std::size_t index = 0; index < made.all.size(); ++index) {
            INFO("device " << index);
            CHECK(holds(made.all[index], memory[index], static_cast<int>(index)));
        }
    }
    CHECK(misuses().empty());
}

// --- copies

GRAPH_TEST_CASE("a graph of either device copies between two devices",
                "[graph][several_devices][copy]", (Api api)) {
    const Workers made = many_workers();
    const auto values = numbers(count);
    made.each_pair([&](const Worker &from, const Worker &to) {
        auto source = ok(Words::copy_of(from.context, values));
        auto target = ok(Words::allocate(to.context, count));
        for (const Worker *owner : {&from, &to}) {
            INFO("a graph of device " << owner->device.native());
            Graph graph = ok(create_graph(api, owner->context));
            (void)ok(graph.add_memcpy_node({}, target, source.span()));
            GraphExec exec = ok(graph.instantiate());
            for (const Worker *launcher : {&from, &to}) {
                INFO("launched in a stream of device " << launcher->device.native());
                ok(fill(to.context, target.span(), -1));
                launch_in(*launcher, exec);
                CHECK(ok(to.read(target.span())) == values);
            }
        }
    });
}

// --- captures

GRAPH_TEST_CASE("a capture forks to every device by events and joins",
                "[graph][capture][several_devices]", (Api api)) {
    const Workers made = many_workers();
    auto memory = buffers(made), gathered = [&] {
        std::vector<Words> all;
        for (std::size_t index = 0; index < made.all.size(); ++index) {
            all.push_back(ok(Words::allocate(made.all[0].context, count)));
        }
        return all;
    }();
    const Worker &first = made.all[0];
    const auto event_on = [](const Worker &worker) { return ok(Event::create(worker.context)); };
    const auto enqueue = [&](std::size_t index) {
        const Worker &worker = made.all[index];
        const auto size = static_cast<unsigned int>(count);
        const auto kernel = ok(worker.code.kernel<Fill>("fill"));
        ok(kernel.launch(worker.stream, LaunchConfig::covering(size), memory[index],
                         200 + static_cast<int>(index), size));
        ok(copy(worker.stream, gathered[index].span(), memory[index].span()));
    };
    const Event fork = event_on(first);
    std::vector<Event> joins;
    auto graph = capture(api, first.stream, [&]() -> Result<void> {
        CUSHIM_TRY_VOID(fork.record(first.stream));
        for (std::size_t index = 1; index < made.all.size(); ++index) {
            const Worker &worker = made.all[index];
            CUSHIM_TRY_VOID(worker.stream.wait_event(fork));
            CHECK(ok(worker.stream.is_capturing()));
            enqueue(index);
            joins.push_back(event_on(worker));
            CUSHIM_TRY_VOID(joins.back().record(worker.stream));
        }
        enqueue(0);
        for (const Event &join : joins) {
            CUSHIM_TRY_VOID(first.stream.wait_event(join));
        }
        return {};
    });
    GraphExec exec = ok(ok(std::move(graph)).instantiate());
    for (const Worker &launcher : made.all) {
        INFO("launched in a stream of device " << launcher.device.native());
        CHECK_FALSE(ok(launcher.stream.is_capturing()));
        clear(made, memory);
        launch_in(launcher, exec);
        for (std::size_t index = 0; index < made.all.size(); ++index) {
            INFO("device " << index);
            CHECK(holds(made.all[index], memory[index], 200 + static_cast<int>(index)));
            CHECK(holds(first, gathered[index], 200 + static_cast<int>(index)));
        }
    }
    CHECK(misuses().empty());
}

GRAPH_TEST_CASE("a capture that another device's stream did not join yields no graph",
                "[graph][capture][several_devices]", (Api api)) {
    const Workers made = many_workers();
    auto memory = buffers(made);
    made.each_pair([&](const Worker &one, const Worker &other) {
        const Event fork = ok(Event::create(one.context));
        auto &there = memory[static_cast<std::size_t>(other.device.native())];
        auto graph = capture(api, one.stream, [&]() -> Result<void> {
            CUSHIM_TRY_VOID(fork.record(one.stream));
            CUSHIM_TRY_VOID(other.stream.wait_event(fork));
            return fill(other.stream, there.span(), 3);
        });
        CHECK(error_of(graph).status() == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        for (const Worker *worker : {&one, &other}) {
            CHECK_FALSE(ok(worker->stream.is_capturing()));
        }
        ok(fill(other.stream, there.span(), 4));
        ok(other.stream.synchronize());
        CHECK(holds(other, there, 4));
    });
}

// --- graph memory

GRAPH_TEST_CASE("graph memory of one device is used by a child graph of another",
                "[graph][memory][several_devices]", (Api api)) {
    const Workers made = workers_with_access();
    made.each_pair_with_access([&](const Worker &user, const Worker &owner) {
        auto result = ok(Words::allocate(user.context, count));
        const AccessGrant grants[] = {{user.device, AccessFlags::read_write}};
        Graph graph = ok(create_graph(api, owner.context));
        const auto memory = ok(graph.add_mem_alloc_node<int>({}, owner.device, count, grants));
        Graph child = ok(create_graph(api, user.context));
        const GraphNode set = ok(child.add_memset_node({}, memory.span(), 9));
        (void)ok(child.add_memcpy_node(set, result, memory.span()));
        const GraphNode use = ok(graph.add_child_graph_node(memory.node(), child));
        (void)ok(graph.add_mem_free_node(use, memory));
        GraphExec exec = ok(graph.instantiate());
        for (const Worker *launcher : {&owner, &user}) {
            INFO("launched in a stream of device " << launcher->device.native());
            ok(fill(user.context, result.span(), -1));
            const auto launched = exec.launch(launcher->stream);
            if (simulator() == nullptr && !launched) {
                // Driver 580, if the memory was mapped for a third device before.
                CHECK(launched.error().status() == CUDA_ERROR_ALREADY_MAPPED);
                ok(exec.launch(launcher->stream));
            } else {
                ok(launched);
            }
            ok(launcher->stream.synchronize());
            CHECK(holds(user, result, 9));
        }
    });
}

// --- conditional nodes

#ifndef _WIN32

// CUDA documents that conditional nodes and their bodies are of one context. It does not say
// whether the launching stream may be of another device. An error is accepted, but not a wrong
// result; in a child process, as an error may break the context.
GRAPH_TEST_CASE("a conditional node runs in a stream of another device, or the launch fails",
                "[graph][conditional][several_devices]", (Api api)) {
    const Workers made = many_workers();
    need_cuda(12, 3);
    if (driver_version() < Version::of(12, 3)) {
        SKIP("needs a driver of CUDA 12.3, which has conditional nodes");
    }
    const auto launch = [&](const Worker &owner, const Worker &launcher) {
        support::Child child("child: launches a conditional node", many_devices());
        child.channel().send(api);
        child.channel().send(owner.device.native());
        child.channel().send(launcher.device.native());
        const auto status = child.channel().receive<int>();
        CHECK(child.passed());
        CHECK((simulator() == nullptr || status == 0));
        if (status != 0) {
            std::printf("%s API: a conditional node of device %d in a stream of device %d: %d\n",
                        api == Api::driver ? "driver" : "runtime", owner.device.native(),
                        launcher.device.native(), status);
        }
    };
    launch(made.all.front(), made.all.back());
    launch(made.all.back(), made.all.front());
}

namespace {

int status_of(const Result<void> &result) {
    return result ? 0 : std::max(1, result.error().status());
}

Result<void> launch_conditional(Api api, const Worker &owner, const Worker &launcher,
                                Words &memory) {
    CUSHIM_TRY(Graph graph, create_graph(api, owner.context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY_VOID(branch.body.add_memset_node({}, memory, 6));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(launcher.stream));
    return launcher.stream.synchronize();
}

} // namespace

TEST_CASE("child: launches a conditional node", "[.]") {
    support::Channel parent = support::Channel::of_parent();
    const auto api = parent.receive<Api>();
    const Worker owner = ok(Worker::on(ok(Device::get(parent.receive<CUdevice>()))));
    const Worker launcher = ok(Worker::on(ok(Device::get(parent.receive<CUdevice>()))));
    auto memory = ok(Words::allocate(owner.context, count));
    ok(fill(owner.context, memory.span(), -1));
    const Result<void> launched = launch_conditional(api, owner, launcher, memory);
    CHECK((!launched || holds(owner, memory, 6)));
    parent.send(status_of(launched));
}

#endif
