// A user's GoogleTest suite: fixtures that reset the simulator, and check leaks and misuses.
#include <cushim/cushim.hpp>
#include <cushim_sim.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
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

// scale(float *numbers, float factor, unsigned int n)
constexpr const char *scale_ptx = R"(
.version 7.0
.target sm_52
.address_size 64
.visible .entry scale(.param .u64 numbers, .param .f32 factor, .param .u32 n) { ret; }
)";

int scale(const cushim_sim_launch *launch, void *) {
    std::uint64_t address;
    float factor;
    std::uint32_t n;
    std::memcpy(&address, launch->parameters[0], sizeof address);
    std::memcpy(&factor, launch->parameters[1], sizeof factor);
    std::memcpy(&n, launch->parameters[2], sizeof n);
    auto *const numbers = static_cast<float *>(simulator().view(address, n * sizeof(float)));
    for (std::uint32_t i = 0; numbers != nullptr && i < n; ++i) {
        numbers[i] *= factor;
    }
    return numbers != nullptr ? 0 : 700;
}

std::vector<float> numbers(std::size_t count) {
    std::vector<float> all(count);
    std::iota(all.begin(), all.end(), 1.0F);
    return all;
}

class Gpu : public testing::Test {
  protected:
    void SetUp() override {
        simulator().reset();
        context = Context::primary(Device::get(0).value()).value();
        stream = Stream::create(context).value();
    }
    void TearDown() override {
        stream = {};
        context = {};
        // What graphs have used is released in a thread of cushim, after their last launch.
        simulator().drain();
        wait_for_released_closures();
        EXPECT_EQ(lines(simulator().leaks), "");
        EXPECT_EQ(lines(simulator().misuses), "");
    }

    Context context;
    Stream stream;
};

TEST_F(Gpu, CopiesThereAndBack) {
    const auto there = DeviceBuffer<float>::copy_of(context, numbers(1000)).value();
    EXPECT_EQ(there.to_vector().value(), numbers(1000));
}

TEST_F(Gpu, CopiesPinnedMemoryInAStream) {
    auto from = PinnedBuffer<float>::copy_of(context, numbers(100)).value();
    auto to = PinnedBuffer<float>::allocate(context, 100).value();
    auto there = DeviceBuffer<float>::allocate_async(stream, 100).value();
    copy(stream, there, from).value();
    copy(stream, to, there).value();
    there.free_async(stream).value();
    stream.synchronize().value();
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin()));
}

TEST_F(Gpu, OrdersStreamsByEvents) {
    const Stream other = Stream::create(context).value();
    auto there = DeviceBuffer<int>::allocate(context, 10).value();
    auto here = PinnedBuffer<int>::allocate(context, 10).value();
    const Event begin = stream.record_event().value();
    fill(stream, there, 7).value();
    const Event filled = stream.record_event().value();
    other.wait_event(filled).value();
    copy(other, here, there).value();
    other.synchronize().value();
    EXPECT_EQ(here.span()[9], 7);
    EXPECT_GT(filled.elapsed_since(begin).value(), 0);
}

TEST_F(Gpu, LaunchesAKernel) {
    simulator().register_kernel("scale", scale, nullptr);
    const Module module = Module::load(context, scale_ptx).value();
    const auto kernel = module.kernel<void(float *, float, unsigned int)>("scale").value();
    auto there = DeviceBuffer<float>::copy_of(context, numbers(3)).value();
    kernel.launch(stream, LaunchConfig::covering(3), there, 10.0F, 3U).value();
    stream.synchronize().value();
    EXPECT_EQ(there.to_vector().value(), (std::vector<float>{10, 20, 30}));
}

TEST_F(Gpu, ReplaysAGraph) {
    auto there = DeviceBuffer<int>::allocate(context, 4).value();
    int calls = 0;
    const Graph graph = stream
                            .capture([&]() -> Result<void> {
                                CUSHIM_TRY_VOID(fill(stream, there, 1));
                                return stream.launch_host_function([&calls] { ++calls; });
                            })
                            .value();
    const GraphExec replay = graph.instantiate().value();
    for (int i = 0; i < 3; ++i) {
        replay.launch(stream).value();
    }
    stream.synchronize().value();
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(there.to_vector().value(), (std::vector<int>{1, 1, 1, 1}));
}

TEST_F(Gpu, KeepsFreedMemoryInAPool) {
    const MemoryPool pool = MemoryPool::create(Device::get(0).value()).value();
    pool.set_release_threshold(std::size_t(1) << 30).value();
    { const auto memory = PoolBuffer<char>::allocate(pool, stream, 1 << 20).value(); }
    stream.synchronize().value();
    EXPECT_EQ(pool.usage().value().used, 0);
    EXPECT_GE(pool.usage().value().reserved, std::size_t(1) << 20);
}

TEST_F(Gpu, ReportsAPlannedFault) {
    cushim_sim_fault second{};
    second.entry = "cuMemAlloc";
    second.code = CUDA_ERROR_OUT_OF_MEMORY;
    second.nth = 2;
    const auto fault = simulator().plan_fault(&second);
    const auto first = DeviceBuffer<int>::allocate(context, 10);
    const auto failed = DeviceBuffer<int>::allocate(context, 10);
    EXPECT_TRUE(first.has_value());
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().kind(), ErrorKind::out_of_memory);
    EXPECT_EQ(simulator().fault_fired(fault), 1);
}

TEST_F(Gpu, IsUsedByThreads) {
    std::vector<std::thread> threads;
    std::vector<int> right(4);
    for (int &each : right) {
        threads.emplace_back([&] {
            const Stream own = Stream::create(context).value();
            auto there = DeviceBuffer<float>::allocate(context, 100).value();
            copy(own, there, numbers(100)).value();
            own.synchronize().value();
            each = there.to_vector().value() == numbers(100);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(right, std::vector<int>(4, 1));
}

// Two devices, whose settings follow the reset.
class TwoGpus : public testing::Test {
  protected:
    void SetUp() override {
        simulator().reset();
        ASSERT_EQ(simulator().configure("devices=2;name.1=second"), 0) << simulator().problem();
    }
    void TearDown() override { EXPECT_EQ(lines(simulator().leaks), ""); }
};

TEST_F(TwoGpus, HaveTheirOwnNames) {
    EXPECT_EQ(Device::count().value(), 2);
    EXPECT_STREQ(Device::get(1).value().name().value().c_str(), "second");
}

void must_work(const Result<Device> &result) {
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().message());
        std::abort();
    }
}

// A suite whose tests share a context, and a test that forks.
class SharedGpuDeathTest : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        simulator().reset();
        context = Context::primary(Device::get(0).value()).value();
    }
    static void TearDownTestSuite() {
        context = {};
        EXPECT_EQ(lines(simulator().leaks), "");
    }
    static Context context;
};
Context SharedGpuDeathTest::context;

TEST_F(SharedGpuDeathTest, EndsTheProcessWithoutAValue) {
    const auto memory = DeviceBuffer<int>::allocate(context, 10).value();
    EXPECT_DEATH(must_work(Device::get(7)), "Device::get");
    // CUDA does not work in a child of fork.
    EXPECT_EXIT(std::exit(Device::count().has_value() ? 1 : 0), testing::ExitedWithCode(0), "");
    EXPECT_EQ(memory.to_vector().value().size(), 10);
}

} // namespace
