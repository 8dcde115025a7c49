// A user's Catch2 suite. A listener resets the simulator around each run of a test case, and checks
// leaks and misuses; the fixture holds a context and a stream.
#include <cushim/cushim.hpp>
#include <cushim_sim.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace cushim;

namespace {

const cushim_sim &simulator() {
    static const cushim_sim *const found = cushim_sim_find();
    if (found == nullptr) {
        std::abort(); // CTest sets CUSHIM_DRIVER
    }
    return *found;
}

using Report = std::size_t (*)(cushim_sim_line line, void *user);
std::string lines(Report report) {
    std::string all;
    report([](const char *line,
              void *user) { static_cast<std::string *>(user)->append(line) += '\n'; },
           &all);
    return all;
}

class CleanGpu : public Catch::EventListenerBase {
  public:
    using EventListenerBase::EventListenerBase;
    void testCasePartialStarting(const Catch::TestCaseInfo &, std::uint64_t) override {
        simulator().reset();
    }
    void sectionStarting(const Catch::SectionInfo &) override { ++depth_; }
    // The outermost section is the test case, whose fixture has been destroyed.
    void sectionEnded(const Catch::SectionStats &) override {
        if (--depth_ == 0) {
            simulator().drain();
            wait_for_released_closures();
            CHECK(lines(simulator().leaks) == "");
            CHECK(lines(simulator().misuses) == "");
        }
    }

  private:
    int depth_ = 0;
};
CATCH_REGISTER_LISTENER(CleanGpu)

struct Gpu {
    Device device = Device::get(0).value();
    Context context = Context::primary(device).value();
    Stream stream = Stream::create(context).value();
};

constexpr const char *count_ptx = R"(
.version 7.0
.target sm_52
.address_size 64
.visible .entry count(.param .u64 numbers, .param .u32 n) { ret; }
)";

} // namespace

TEST_CASE_METHOD(Gpu, "a buffer holds what was copied to it") {
    const std::vector<int> numbers{1, 2, 3};
    auto there = DeviceBuffer<int>::copy_of(context, numbers).value();
    CHECK(there.to_vector().value() == numbers);
    SECTION("a fill replaces it") {
        fill(there, 7).value();
        CHECK(there.to_vector().value() == std::vector<int>{7, 7, 7});
    }
    SECTION("a part can be replaced") {
        const std::vector<int> two{9, 9};
        copy(context, there.span().subspan(1, 2).value(), two).value();
        CHECK(there.to_vector().value() == std::vector<int>{1, 9, 9});
    }
}

TEST_CASE_METHOD(Gpu, "pinned memory is copied in stream order") {
    auto from = PinnedBuffer<int>::allocate(context, 1000).value();
    auto to = PinnedBuffer<int>::allocate(context, 1000).value();
    std::iota(from.begin(), from.end(), 0);
    auto there = DeviceBuffer<int>::allocate(context, 1000).value();
    copy(stream, there, from).value();
    copy(stream, to, there).value();
    stream.synchronize().value();
    CHECK(std::equal(from.begin(), from.end(), to.begin()));
}

TEST_CASE_METHOD(Gpu, "a stream waits for another one") {
    const auto settings = GENERATE("mode=immediate", "mode=threaded", "mode=adversarial;seed=2",
                                   "mode=adversarial;seed=3");
    REQUIRE(simulator().configure(settings) == 0);
    const Stream other = Stream::create(context).value();
    auto there = DeviceBuffer<int>::allocate_zeroed(context, 10).value();
    auto here = PinnedBuffer<int>::allocate(context, 10).value();
    fill(stream, there, 1).value();
    other.wait(stream).value();
    copy(other, here, there).value();
    other.synchronize().value();
    CHECK(here.span()[9] == 1);
}

TEST_CASE_METHOD(Gpu, "a kernel writes its numbers") {
    const Module module = Module::load(context, count_ptx).value();
    const auto count = module.kernel<void(int *, unsigned int)>("count").value();
    auto there = DeviceBuffer<int>::allocate_zeroed(context, 4).value();
    count.launch(stream, LaunchConfig::covering(4), there, 4U).value();
    stream.synchronize().value();
    CHECK(there.to_vector().value() == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE_METHOD(Gpu, "a captured function runs in each replay, and is destroyed with the graph") {
    const auto calls = std::make_shared<int>(0);
    {
        const Graph graph =
            stream.capture([&] { return stream.launch_host_function([calls] { ++*calls; }); })
                .value();
        const GraphExec replay = graph.instantiate().value();
        replay.launch(stream).value();
        replay.launch(stream).value();
        stream.synchronize().value();
    }
    CHECK(*calls == 2);
    simulator().drain();
    wait_for_released_closures();
    CHECK(calls.use_count() == 1);
}

TEST_CASE_METHOD(Gpu, "a pool counts the memory that is in use") {
    const MemoryPool pool = MemoryPool::create(device).value();
    const auto memory = PoolBuffer<char>::allocate(pool, stream, 1 << 20).value();
    stream.synchronize().value();
    CHECK(pool.usage().value().used >= std::size_t(1) << 20);
}

TEST_CASE_METHOD(Gpu, "a failed allocation is reported and leaves nothing") {
    cushim_sim_fault fault{};
    fault.entry = "cuMemAlloc";
    fault.code = CUDA_ERROR_OUT_OF_MEMORY;
    fault.nth = GENERATE(1U, 2U, 3U);
    const auto planned = simulator().plan_fault(&fault);
    int failed = 0;
    for (int i = 0; i < 3; ++i) {
        failed += DeviceBuffer<int>::allocate(context, 100) ? 0 : 1;
    }
    CHECK(failed == 1);
    CHECK(simulator().fault_fired(planned) == 1);
}

TEST_CASE_METHOD(Gpu, "threads work in streams of their own") {
    std::vector<std::thread> threads;
    std::vector<int> sizes(4);
    for (int &size : sizes) {
        threads.emplace_back([&] {
            const Stream own = Stream::create(context).value();
            auto there = DeviceBuffer<int>::allocate_async(own, 100).value();
            fill(own, there, 1).value();
            own.synchronize().value();
            size = static_cast<int>(there.to_vector().value().size());
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(sizes == std::vector<int>(4, 100));
}

TEST_CASE("two devices copy to each other") {
    REQUIRE(simulator().configure("devices=2") == 0);
    const Context first = Context::primary(Device::get(0).value()).value();
    const Context second = Context::primary(Device::get(1).value()).value();
    const std::vector<int> numbers{1, 2, 3};
    const auto from = DeviceBuffer<int>::copy_of(first, numbers).value();
    auto to = DeviceBuffer<int>::allocate(second, 3).value();
    copy(to, from).value();
    CHECK(to.to_vector().value() == numbers);
}

TEST_CASE("wrappers outlive a reset") {
    static std::optional<Gpu> cached;
    for (int round = 0; round < 2; ++round) {
        simulator().reset();
        cached.emplace(); // destroys those from before the reset first
        CHECK(Event::create(cached->context).has_value());
    }
    cached.reset();
}
