// What a reset of the simulator leaves to owners that outlive it, as in fixtures of test suites.
#include "handles.hpp"

#include <cushim/cushim.hpp>

#include "../../support/sanitizers.h"

using namespace sim_test;

#ifdef TEST_ADDRESS_SANITIZER
// A reset does not call the destructors of user objects, so what graphs kept is not released.
extern "C" const char *__lsan_default_suppressions() {
    return "leak:reset_test.cpp";
}
#endif

namespace {

// A release of a primary context names no object that the reset could have discarded.
void note_failure(const cushim::TeardownFailure &failure, void *user) {
    if (std::string(failure.entry_point) != "cuDevicePrimaryCtxRelease_v2") {
        static_cast<std::vector<std::string> *>(user)->emplace_back(failure.entry_point);
    }
}

// The wrappers that a fixture may hold.
struct Owners {
    cushim::Device device = cushim::Device::get(0).value();
    cushim::Context context = cushim::Context::primary(device).value();
    cushim::Context own_context = cushim::Context::create(device).value();
    cushim::Stream stream = cushim::Stream::create(context).value();
    cushim::Event event = stream.record_event().value();
    cushim::DeviceBuffer<int> memory = cushim::DeviceBuffer<int>::allocate(context, 16).value();
    cushim::DeviceBuffer<int> in_order =
        cushim::DeviceBuffer<int>::allocate_async(stream, 16).value();
    cushim::PinnedBuffer<int> pinned = cushim::PinnedBuffer<int>::allocate(context, 16).value();
    cushim::ManagedBuffer<int> managed = cushim::ManagedBuffer<int>::allocate(context, 16).value();
    cushim::GrowableBuffer<int> growable =
        cushim::GrowableBuffer<int>::create(device, 1 << 20).value();
    cushim::MemoryPool pool = cushim::MemoryPool::create(device).value();
    cushim::PoolBuffer<int> of_pool = cushim::PoolBuffer<int>::allocate(pool, stream, 16).value();
    cushim::Module module =
        cushim::Module::load(context, "cushim-sim-image 1\nkernel add params=8\n").value();
    cushim::Graph graph = cushim::Graph::create(context).value();
    cushim::GraphExec exec = cushim::GraphExec();

    Owners() {
        growable.resize(1000).value();
        (void)graph.add_memset_node({}, memory, 1).value();
        (void)graph.add_host_node({}, [] {}).value();
        exec = graph.instantiate().value();
        exec.launch(stream).value();
    }
};

} // namespace

TEST_CASE("owners that outlive a reset are destroyed without a misuse") {
    std::vector<std::string> failures;
    const auto before = cushim::set_teardown_sink({note_failure, &failures});
    {
        const Owners owners;
        sim_control().reset();
    }
    {
        const Owners owners;
        sim_control().reset();
        sim_control().reset();
    }
    { const Owners next; }
    cushim::wait_for_released_closures();
    cushim::set_teardown_sink(before);
    CHECK(failures == std::vector<std::string>());
    CHECK(misuses().empty());
    CHECK(leaks().empty());
}

TEST_CASE("a use of what a reset has discarded fails with 709 and is not a misuse") {
    const Owners owners;
    sim_control().reset();
    const auto status_of = [](const auto &result) { return result ? 0 : result.error().status(); };
    CHECK(status_of(owners.stream.synchronize()) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(status_of(owners.event.query()) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(status_of(owners.memory.to_vector()) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(status_of(owners.graph.node_count()) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(status_of(cushim::Stream::create(owners.context)) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(driver().cuMemFree(owners.memory.native()) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(misuses().empty());
}

TEST_CASE("the first calls after a reset may be made by several threads at the same time") {
    for (int round = 0; round < 200; ++round) {
        sim_control().reset();
        CUresult statuses[4] = {};
        std::vector<std::thread> threads;
        for (CUresult &status : statuses) {
            threads.emplace_back([&status] {
                int count = 0;
                status = driver().cuDeviceGetCount(&count);
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
        for (const CUresult status : statuses) {
            ok(status);
        }
    }
}
