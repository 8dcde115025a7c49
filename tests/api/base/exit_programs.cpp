// Correct programs that destroy everything they made before main() returns: the first argument
// names one. For exit_report_test.py, which runs them with report=fail.
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

Result<Context> context() {
    CUSHIM_TRY(const Device device, Device::get(0));
    return Context::primary(device);
}

Result<DeviceBuffer<int>> numbers(const Context &in) {
    return DeviceBuffer<int>::allocate(in, 1000);
}

// A node keeps the buffer, and so does the executable graph.
Result<void> graph_keeps_buffer() {
    CUSHIM_TRY(const Context in, context());
    CUSHIM_TRY(const Stream stream, Stream::create(in));
    CUSHIM_TRY(const Graph graph, Graph::create(in));
    {
        CUSHIM_TRY(const auto buffer, numbers(in));
        CUSHIM_TRY_VOID(graph.add_memset_node({}, buffer, 7));
    }
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}

Result<void> host_function_owns_buffer() {
    CUSHIM_TRY(const Context in, context());
    CUSHIM_TRY(const Stream stream, Stream::create(in));
    CUSHIM_TRY(auto buffer, numbers(in));
    CUSHIM_TRY_VOID(stream.launch_host_function([owned = std::move(buffer)] { (void)owned; }));
    return stream.synchronize();
}

Result<void> captured_function_owns_buffer() {
    CUSHIM_TRY(const Context in, context());
    CUSHIM_TRY(const Stream stream, Stream::create(in));
    CUSHIM_TRY(auto buffer, numbers(in));
    CUSHIM_TRY(const Graph graph, stream.capture([&]() -> Result<void> {
        return stream.launch_host_function([owned = std::move(buffer)] { (void)owned; });
    }));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}

// The owners of a launched graph are destroyed while the launch may be running: CUDA destroys it
// once that is done.
Result<void> launch_is_not_awaited() {
    CUSHIM_TRY(const Context in, context());
    CUSHIM_TRY(const Stream stream, Stream::create(in));
    CUSHIM_TRY(const Graph graph, Graph::create(in));
    {
        CUSHIM_TRY(const auto buffer, numbers(in));
        CUSHIM_TRY(const GraphNode filled, graph.add_memset_node({}, buffer, 7));
        CUSHIM_TRY(auto owned, numbers(in));
        CUSHIM_TRY_VOID(graph.add_host_node({filled}, [owned = std::move(owned)] { (void)owned; }));
    }
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    return exec.launch(stream);
}

Result<void> host_function_is_not_awaited() {
    CUSHIM_TRY(const Context in, context());
    CUSHIM_TRY(const Stream stream, Stream::create(in));
    CUSHIM_TRY(auto buffer, numbers(in));
    return stream.launch_host_function([owned = std::move(buffer)] { (void)owned; });
}

// Not correct. The stream is not destroyed: with the primary context, that would wait.
Result<void> endless_host_function() {
    CUSHIM_TRY(const Context in, context());
    CUSHIM_TRY(Stream stream, Stream::create(in));
    static const auto *const kept = new Stream(std::move(stream));
    return kept->launch_host_function([] {
        for (;;) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
        }
    });
}

// Its closure is destroyed on cushim's thread, which it keeps busy while main() returns.
Result<void> slow_closure() {
    struct Slow {
        DeviceBuffer<int> buffer;
        Slow(DeviceBuffer<int> &&owned) noexcept : buffer(std::move(owned)) {}
        Slow(Slow &&) noexcept = default;
        ~Slow() {
            if (buffer) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
            }
        }
        void operator()() const {}
    };
    CUSHIM_TRY(const Context in, context());
    CUSHIM_TRY(const Stream stream, Stream::create(in));
    CUSHIM_TRY(auto buffer, numbers(in));
    CUSHIM_TRY_VOID(stream.launch_host_function(Slow(std::move(buffer))));
    return stream.synchronize();
}

// A closure that is destroyed for longer than the exit waits: not correct.
Result<void> endless_closure() {
    struct Endless {
        bool owns = true;
        Endless() noexcept = default;
        Endless(Endless &&other) noexcept : owns(std::exchange(other.owns, false)) {}
        ~Endless() {
            while (owns) {
                std::this_thread::sleep_for(std::chrono::seconds(1));
            }
        }
        void operator()() const {}
    };
    const auto print = [](const TeardownFailure &failure, void *) {
        std::printf("teardown: %s %d\n", failure.entry_point, failure.status);
        std::fflush(stdout);
    };
    set_teardown_sink({print, nullptr});
    CUSHIM_TRY(const Context in, context());
    CUSHIM_TRY(const Stream stream, Stream::create(in));
    CUSHIM_TRY_VOID(stream.launch_host_function(Endless()));
    return stream.synchronize();
}

// A closure that ends the process on cushim's own thread, once the main thread has destroyed
// everything.
Result<void> exiting_closure() {
    static std::atomic<bool> all_destroyed = false;
    struct Exiting {
        bool owns = true;
        Exiting() noexcept = default;
        Exiting(Exiting &&other) noexcept : owns(std::exchange(other.owns, false)) {}
        ~Exiting() {
            if (owns) {
                all_destroyed.wait(false);
                std::exit(0);
            }
        }
        void operator()() const {}
    };
    {
        CUSHIM_TRY(const Context in, context());
        CUSHIM_TRY(const Stream stream, Stream::create(in));
        CUSHIM_TRY_VOID(stream.launch_host_function(Exiting()));
        CUSHIM_TRY_VOID(stream.synchronize());
    }
    all_destroyed = true;
    all_destroyed.notify_one();
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return {};
}

struct Program {
    const char *name;
    Result<void> (*run)();
};
constexpr Program programs[] = {
    {"graph_keeps_buffer", graph_keeps_buffer},
    {"host_function_owns_buffer", host_function_owns_buffer},
    {"captured_function_owns_buffer", captured_function_owns_buffer},
    {"launch_is_not_awaited", launch_is_not_awaited},
    {"host_function_is_not_awaited", host_function_is_not_awaited},
    {"endless_host_function", endless_host_function},
    {"slow_closure", slow_closure},
    {"endless_closure", endless_closure},
    {"exiting_closure", exiting_closure},
};

} // namespace

int main(int argc, char **argv) {
    for (const Program &program : programs) {
        if (argc == 2 && std::strcmp(argv[1], program.name) == 0) {
            const Result<void> done = program.run();
            if (!done) {
                std::printf("%s\n", done.error().message());
            }
            return done ? 0 : 1;
        }
    }
    return 2;
}
