// Programs for exit_report_test.py, which runs them with report=fail; the first argument names one.
// Unless marked as incorrect, each destroys its objects before main() returns.
#include <cushim/cushim.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace {

using namespace cushim;

Result<DeviceBuffer<int>> numbers(const Context &in) {
    return DeviceBuffer<int>::allocate(in, 1000);
}

// A node keeps the buffer, and so does the executable graph.
Result<void> graph_keeps_buffer(const Context &in, const Stream &stream) {
    CUSHIM_TRY(Graph graph, Graph::create(in));
    {
        CUSHIM_TRY(auto buffer, numbers(in));
        CUSHIM_TRY_VOID(graph.add_memset_node({}, buffer, 7));
    }
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}

Result<void> host_function_owns_buffer(const Context &in, const Stream &stream) {
    CUSHIM_TRY(auto buffer, numbers(in));
    CUSHIM_TRY_VOID(stream.launch_host_function([owned = std::move(buffer)] { (void)owned; }));
    return stream.synchronize();
}

Result<void> captured_function_owns_buffer(const Context &in, const Stream &stream) {
    CUSHIM_TRY(auto buffer, numbers(in));
    CUSHIM_TRY(Graph graph, stream.capture([&]() -> Result<void> {
        return stream.launch_host_function([owned = std::move(buffer)] { (void)owned; });
    }));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}

// Destroys the owners of a graph while its launch may be running: CUDA destroys the graph when the
// launch has completed.
Result<void> launch_is_not_awaited(const Context &in, const Stream &stream) {
    CUSHIM_TRY(Graph graph, Graph::create(in));
    {
        CUSHIM_TRY(auto buffer, numbers(in));
        CUSHIM_TRY(const GraphNode filled, graph.add_memset_node({}, buffer, 7));
        CUSHIM_TRY(auto owned, numbers(in));
        CUSHIM_TRY_VOID(graph.add_host_node({filled}, [owned = std::move(owned)] { (void)owned; }));
    }
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    return exec.launch(stream);
}

Result<void> host_function_is_not_awaited(const Context &in, const Stream &stream) {
    CUSHIM_TRY(auto buffer, numbers(in));
    return stream.launch_host_function([owned = std::move(buffer)] { (void)owned; });
}

// Incorrect. The stream is leaked: its destruction, with the primary context, would wait.
Result<void> endless_host_function(const Context &in, const Stream &) {
    CUSHIM_TRY(Stream stream, Stream::create(in));
    static const auto *const kept = new Stream(std::move(stream));
    return kept->launch_host_function([] {
        for (;;) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
        }
    });
}

// A closure whose destruction runs `action`, on a cushim thread.
template <class Action>
class AtEnd {
  public:
    explicit AtEnd(Action action) noexcept : action_(std::move(action)) {}
    AtEnd(AtEnd &&other) noexcept
        : action_(std::move(other.action_)), owns_(std::exchange(other.owns_, false)) {}
    ~AtEnd() {
        if (owns_) {
            action_();
        }
    }
    void operator()() const {}

  private:
    Action action_;
    bool owns_ = true;
};

// Keeps the cushim thread busy while main() returns.
Result<void> slow_closure(const Context &in, const Stream &stream) {
    CUSHIM_TRY(auto buffer, numbers(in));
    CUSHIM_TRY_VOID(stream.launch_host_function(AtEnd([owned = std::move(buffer)] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    })));
    return stream.synchronize();
}

// A graph of the runtime API is destroyed before an exit handler that was registered after cuInit
// and before the first such graph, as libcudart's is.
std::atomic<bool> closure_ended = false;
Result<void> slow_runtime_graph(const Context &in, const Stream &) {
    std::atexit([] {
        if (!closure_ended) {
            std::puts("libcudart would be torn down before the graph");
            std::fflush(stdout);
        }
    });
    CUSHIM_TRY(Graph graph, rt::create_graph(in));
    return graph
        .add_host_node({}, AtEnd([] {
                           std::this_thread::sleep_for(std::chrono::milliseconds(50));
                           closure_ended = true;
                       }))
        .transform([](const GraphNode &) {});
}

// Incorrect: the destruction of the closure takes longer than the exit waits.
Result<void> endless_closure(const Context &, const Stream &stream) {
    const auto print = [](const TeardownFailure &failure, void *) {
        std::printf("teardown: %s %d\n", failure.entry_point, failure.status);
        std::fflush(stdout);
    };
    set_teardown_sink({print, nullptr});
    CUSHIM_TRY_VOID(stream.launch_host_function(AtEnd([] {
        for (;;) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
        }
    })));
    return stream.synchronize();
}

// A closure that calls exit() after the main thread has destroyed its objects.
std::atomic<bool> all_destroyed = false;
Result<void> exiting_closure(const Context &, const Stream &stream) {
    CUSHIM_TRY_VOID(stream.launch_host_function(AtEnd([] {
        all_destroyed.wait(false);
        std::exit(0);
    })));
    return stream.synchronize();
}
void wait_for_exit() {
    all_destroyed = true;
    all_destroyed.notify_one();
    std::this_thread::sleep_for(std::chrono::seconds(60));
}

// Continues after a failure of its context: enqueued work fails with 719 where a fault is planned.
Result<void> context_fails(const Context &in, const Stream &stream) {
    const auto compute = [&]() -> Result<void> {
        CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate_async(stream, 1000));
        CUSHIM_TRY_VOID(fill(stream, buffer, 7));
        CUSHIM_TRY_VOID(host_function_owns_buffer(in, stream));
        CUSHIM_TRY_VOID(graph_keeps_buffer(in, stream));
        return captured_function_owns_buffer(in, stream);
    };
    const Result<void> computed = compute();
    return computed || computed.error().status() == 719 ? Result<void>() : computed;
}

struct Program {
    const char *name;
    Result<void> (*run)(const Context &in, const Stream &stream);
    void (*afterwards)() = [] {};
};
constexpr Program programs[] = {
    {"graph_keeps_buffer", graph_keeps_buffer},
    {"host_function_owns_buffer", host_function_owns_buffer},
    {"captured_function_owns_buffer", captured_function_owns_buffer},
    {"launch_is_not_awaited", launch_is_not_awaited},
    {"host_function_is_not_awaited", host_function_is_not_awaited},
    {"endless_host_function", endless_host_function},
    {"context_fails", context_fails},
    {"slow_closure", slow_closure},
    {"slow_runtime_graph", slow_runtime_graph},
    {"endless_closure", endless_closure},
    {"exiting_closure", exiting_closure, wait_for_exit},
};

Result<void> run(const Program &program) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context context, Context::primary(device));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    return program.run(context, stream);
}

} // namespace

int main(int argc, char **argv) {
    for (const Program &program : programs) {
        if (argc == 2 && std::strcmp(argv[1], program.name) == 0) {
            const Result<void> done = run(program);
            if (!done) {
                std::printf("%s\n", done.error().message());
            }
            program.afterwards();
            return done ? 0 : 1;
        }
    }
    return 2;
}
