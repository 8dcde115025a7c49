// Kernel launches in every mode: what registered kernels receive, how failures and lifetimes end.
#include "images.hpp"
#include "launch_tools.hpp"

#include <numeric>
#include <optional>

using namespace sim_test;

namespace {

// c[i] = a[i] + b[i] for floats.
int add(const cushim_sim_launch *launch, void *) {
    const auto count = argument<int>(*launch, 3);
    const auto size = static_cast<std::size_t>(count) * sizeof(float);
    const auto view = [&](unsigned int index) {
        return static_cast<float *>(
            sim_control().view(argument<CUdeviceptr>(*launch, index), size));
    };
    const float *a = view(0), *b = view(1);
    float *c = view(2);
    if (a == nullptr || b == nullptr || c == nullptr) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (int i = 0; i < count; ++i) {
        c[i] = a[i] + b[i];
    }
    return 0;
}

int fail_with(const cushim_sim_launch *, void *status) {
    return *static_cast<int *>(status);
}

// Stores the properties of the last launch.
struct Seen {
    std::string kernel;
    std::array<unsigned int, 3> grid{}, block{};
    unsigned int shared = 0;
    void *stream = nullptr;
    std::vector<std::vector<unsigned char>> parameters;

    static int keep(const cushim_sim_launch *launch, void *user) {
        auto &seen = *static_cast<Seen *>(user);
        seen.kernel = launch->kernel;
        std::copy_n(launch->grid, 3, seen.grid.begin());
        std::copy_n(launch->block, 3, seen.block.begin());
        seen.shared = launch->shared_bytes;
        seen.stream = launch->stream;
        seen.parameters.clear();
        for (unsigned int i = 0; i < launch->parameter_count; ++i) {
            const auto *bytes = static_cast<const unsigned char *>(launch->parameters[i]);
            seen.parameters.emplace_back(bytes, bytes + launch->parameter_sizes[i]);
        }
        return 0;
    }
};

std::vector<std::string> idle_kernels() {
    return lines_of(&cushim_sim::idle_kernels);
}

} // namespace

TEST_CASE("a registered kernel computes on device memory") {
    start(GENERATE_COPY(from_range(all_modes())));
    sim_control().register_kernel("add", add, nullptr);
    const LoadedModule module;
    const CUfunction function = module.function("add");
    int count = 1000;
    const std::size_t size = sizeof(float) * 1000;
    std::vector<float> a(1000), b(1000), c(1000);
    std::iota(a.begin(), a.end(), 0.0F);
    std::iota(b.begin(), b.end(), 5.0F);
    const DeviceMemory first(size), second(size), third(size);
    {
        CUdeviceptr memory[] = {first, second, third};
        const Stream stream;
        CHECK(d.cuMemcpyHtoDAsync(memory[0], a.data(), size, stream) == good);
        CHECK(d.cuMemcpyHtoDAsync(memory[1], b.data(), size, stream) == good);
        void *parameters[] = {&memory[0], &memory[1], &memory[2], &count};
        CHECK(launch(function, {4, 1, 1}, {256, 1, 1}, 0, stream, parameters) == good);
        // Arguments are copied by the launch.
        const int done = std::exchange(count, -1);
        CHECK(d.cuMemcpyDtoHAsync(c.data(), memory[2], size, stream) == good);
        CHECK(d.cuStreamSynchronize(stream) == good);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i) {
            wrong += c[i] != a[i] + b[i];
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("a registered kernel receives all properties of its launch") {
    Seen seen;
    sim_control().register_kernel("mixed", Seen::keep, &seen);
    const LoadedModule module;
    const CUfunction mixed = module.function("mixed");
    const Stream stream;
    unsigned char p0 = 1, p4[16] = {}, p5[3] = {7, 8, 9};
    unsigned short p1 = 0x0203;
    unsigned long long p2 = 0x1122334455667788;
    float p3 = 1.5F;
    p4[15] = 15;
    void *parameters[] = {&p0, &p1, &p2, &p3, p4, p5};
    CHECK(launch(mixed, {2, 3, 4}, {5, 6, 7}, 64, stream, parameters) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(seen.kernel == "mixed");
    CHECK(seen.grid == std::array<unsigned int, 3>{2, 3, 4});
    CHECK(seen.block == std::array<unsigned int, 3>{5, 6, 7});
    CHECK(seen.shared == 64);
    CHECK(seen.stream == static_cast<CUstream>(stream));
    const auto bytes = [](const void *value, std::size_t size) {
        const auto *begin = static_cast<const unsigned char *>(value);
        return std::vector<unsigned char>(begin, begin + size);
    };
    const std::vector<std::vector<unsigned char>> expected = {
        bytes(&p0, 1), bytes(&p1, 2), bytes(&p2, 8), bytes(&p3, 4), bytes(p4, 16), bytes(p5, 3)};
    CHECK(seen.parameters == expected);

    // The same arguments in one buffer, laid out as on the device.
    unsigned char buffer[64] = {};
    std::size_t size = 43;
    buffer[0] = p0;
    std::memcpy(buffer + 2, &p1, 2);
    std::memcpy(buffer + 8, &p2, 8);
    std::memcpy(buffer + 16, &p3, 4);
    std::memcpy(buffer + 24, p4, 16);
    std::memcpy(buffer + 40, p5, 3);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER, buffer,
                     CU_LAUNCH_PARAM_END};
    seen.parameters.clear();
    CHECK(launch(mixed, {1, 1, 1}, {1, 1, 1}, 0, stream, nullptr, extra) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(seen.parameters == expected);
    // Measured with driver 580: a buffer padded to the size of the structure is too large. The
    // driver reads past the end of a buffer that is too small; the simulator rejects it.
    const auto launch_of_size = [&](std::size_t wrong) {
        size = wrong;
        return launch(mixed, {1, 1, 1}, {1, 1, 1}, 0, stream, nullptr, extra);
    };
    check_all(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
              {launch_of_size(48), launch_of_size(49), launch_of_size(~std::size_t(0))});
    check_all(invalid, {launch_of_size(0), launch_of_size(42)});
}

TEST_CASE("a kernel without a host function computes nothing and is reported") {
    const LoadedModule module;
    const CUfunction function = module.function("nothing");
    CHECK(idle_kernels().empty());
    check_all(good, {launch(function), launch(function)});
    CHECK(idle_kernels() == std::vector<std::string>{
                                "kernel nothing was launched 2 times and computed nothing: no host "
                                "function is registered for this name"});
    int runs = 0;
    sim_control().register_kernel("nothing", count_runs, &runs);
    CHECK(launch(function) == good);
    CHECK(runs == 1);
    sim_control().register_kernel("nothing", nullptr, nullptr);
    CHECK(launch(function) == good);
    CHECK(runs == 1);
}

TEST_CASE("a kernel registered with a null function is not reported") {
    const LoadedModule module;
    sim_control().register_kernel("nothing", nullptr, nullptr);
    CHECK(launch(module.function("nothing")) == good);
    CHECK(idle_kernels().empty());
}

TEST_CASE("an error returned by a kernel fails its context") {
    start(GENERATE_COPY(from_range(all_modes())));
    int status = CUDA_ERROR_ILLEGAL_ADDRESS;
    sim_control().register_kernel("nothing", fail_with, &status);
    const CUmodule module = load_module(vector_image);
    const CUfunction function = function_of(module, "nothing");
    CHECK(launch(function) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    // The error is sticky: the context cannot be used again.
    CHECK(launch(function) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d.cuModuleUnload(module) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("API calls made by a kernel fail with NOT_PERMITTED") {
    CUresult status = good;
    sim_control().register_kernel(
        "nothing",
        [](const cushim_sim_launch *, void *user) {
            CUdeviceptr memory = 0;
            *static_cast<CUresult *>(user) = d.cuMemAlloc(&memory, 16);
            return 0;
        },
        &status);
    const LoadedModule module;
    CHECK(launch(module.function("nothing")) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(status == CUDA_ERROR_NOT_PERMITTED);
}

TEST_CASE("unloading a module waits for its kernels, in adversarial mode it is a misuse") {
    int runs = 0;
    const auto unload_at_once = [&](const std::string &mode) {
        start(mode);
        sim_control().register_kernel(
            "nothing",
            [](const cushim_sim_launch *, void *user) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                return ++*static_cast<int *>(user), 0;
            },
            &runs);
        const Module module(vector_image);
        const CUfunction function = function_of(module, "nothing");
        for (int i = 0; i < 5; ++i) {
            CHECK(launch(function) == good);
        }
    };
    unload_at_once("mode=immediate");
    CHECK(runs == 5);
    unload_at_once("mode=threaded");
    CHECK(runs == 10);
    unload_at_once("mode=adversarial;seed=1");
    expect_misuse("is unloaded while enqueued launches need it");
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("kernel nothing runs after its module was unloaded");
    CHECK(runs == 10);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("freeing memory that an enqueued kernel uses is a misuse") {
    start("mode=adversarial;seed=1");
    CUmodule module = nullptr; // unloaded with its context, which fails
    REQUIRE(d.cuModuleLoadData(&module, vector_image) == good);
    const CUfunction function = function_of(module, "add");
    const CUdeviceptr memory = allocate(64);
    CUdeviceptr inside = memory + 32;
    int count = 0;
    void *parameters[] = {&inside, &inside, &inside, &count};
    CHECK(launch(function, {1, 1, 1}, {1, 1, 1}, 0, nullptr, parameters) == good);
    check_misuse(d.cuMemFree(memory), good, "queued");
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("a launch records the event of its attributes") {
    start("mode=adversarial;seed=1");
    const LoadedModule module;
    const CUfunction function = module.function("nothing");
    CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
    const Event timed;
    CUlaunchAttribute programmatic = attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
    programmatic.value.programmaticEvent.event = event;
    CHECK(launch_with(function, {programmatic}) == good);
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    CHECK(d.cuEventSynchronize(event) == good);
    programmatic.value.programmaticEvent.event = timed;
    CHECK(launch_with(function, {programmatic}) == invalid);
    programmatic.value.programmaticEvent.event = nullptr;
    CHECK(launch_with(function, {programmatic}) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("a captured launch runs with its graph") {
    start(GENERATE_COPY(from_range(all_modes())));
    int runs = 0;
    sim_control().register_kernel("nothing", count_runs, &runs);
    const LoadedModule module;
    const Stream stream;
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == good);
    CHECK(launch(module.function("nothing"), {1, 1, 1}, {1, 1, 1}, 0, stream) == good);
    const Graph graph(got<CUgraph>(&Driver::cuStreamEndCapture, stream, out));
    CHECK(runs == 0);
    CHECK(got<std::size_t>(&Driver::cuGraphGetNodes, graph, nullptr, out) == 1);
    const Executable exec(graph);
    CHECK(d.cuGraphLaunch(exec, stream) == good);
    CHECK(d.cuGraphLaunch(exec, stream) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(runs == 2);
}

TEST_CASE("launching a graph whose module is unloaded is a misuse") {
    const Stream stream;
    std::optional<LoadedModule> module(std::in_place);
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == good);
    CHECK(launch(module->function("nothing"), {1, 1, 1}, {1, 1, 1}, 0, stream) == good);
    const Graph graph(got<CUgraph>(&Driver::cuStreamEndCapture, stream, out));
    const Executable exec(graph);
    module.reset();
    CHECK(d.cuGraphLaunch(exec, stream) != good);
    expect_misuse("whose object was destroyed");
}

TEST_CASE("the launch functions that precede CUDA 4 set up and launch a kernel") {
    Seen seen;
    sim_control().register_kernel("add", Seen::keep, &seen);
    const LoadedModule module;
    const CUfunction function = module.function("add");
    unsigned long long pointer = 0x1000;
    CHECK(d.cuFuncSetBlockShape(function, 8, 4, 2) == good);
    CHECK(d.cuFuncSetSharedSize(function, 256) == good);
    for (int i = 0; i < 3; ++i) {
        CHECK(d.cuParamSetv(function, 8 * i, &pointer, 8) == good);
    }
    CHECK(d.cuLaunchGrid(function, 3, 2) == invalid); // too few bytes
    CHECK(d.cuParamSeti(function, 24, 77) == good);
    CHECK(d.cuParamSetSize(function, 28) == good);
    CHECK(d.cuLaunchGrid(function, 3, 2) == good);
    CHECK(seen.grid == std::array<unsigned int, 3>{3, 2, 1});
    CHECK(seen.block == std::array<unsigned int, 3>{8, 4, 2});
    CHECK(seen.shared == 256);
    REQUIRE(seen.parameters.size() == 4);
    CHECK(seen.parameters[3] == std::vector<unsigned char>{77, 0, 0, 0});
    CHECK(d.cuLaunch(function) == good);
    CHECK(seen.grid == std::array<unsigned int, 3>{1, 1, 1});
    CHECK(d.cuParamSetf(function, 24, 1.0F) == good);
    CHECK(d.cuLaunchGridAsync(function, 1, 1, nullptr) == good);
    check_all(invalid,
              {d.cuLaunchGrid(function, 0, 1), d.cuLaunchGrid(function, -1, 1),
               d.cuFuncSetBlockShape(function, 0, 1, 1), d.cuFuncSetBlockShape(function, 32, 32, 2),
               d.cuParamSetv(function, -8, &pointer, 8), d.cuParamSetv(function, 0, nullptr, 8),
               d.cuParamSetv(function, 2147483647, &pointer, ~0U),
               d.cuParamSetSize(function, ~0U)});
}
