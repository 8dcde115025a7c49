// Kernels of the runtime: registered programs, libraries, launches, attributes, symbols.
#include "registered.hpp"

using namespace sim_test;

namespace {

// A runtime of CUDA 12 or newer passes an unknown kernel to the driver as a handle.
void expect_unknown_kernel() {
#if CUDART_VERSION >= 12000
    expect_misuse("is not a kernel handle");
#endif
}

int add_vectors(const cushim_sim_launch *launch, void *) {
    const auto view = [&](unsigned int index) {
        return static_cast<float *>(
            sim_control().view(argument<std::uint64_t>(*launch, index), 64));
    };
    const int count = argument<int>(*launch, 3);
    for (int i = 0; i < count; ++i) {
        view(2)[i] = view(0)[i] + view(1)[i];
    }
    return 0;
}

struct Vectors {
    void *a = nullptr, *b = nullptr, *c = nullptr;
    int count = 16;
    std::vector<float> ones, twos;

    Vectors() : ones(16, 1.0f), twos(16, 2.0f) {
        for (void **each : {&a, &b, &c}) {
            require_ok(runtime().cudaMalloc(each, 64));
        }
        require_ok(runtime().cudaMemcpy(a, ones.data(), 64, cudaMemcpyHostToDevice));
        require_ok(runtime().cudaMemcpy(b, twos.data(), 64, cudaMemcpyHostToDevice));
        require_ok(runtime().cudaMemset(c, 0, 64));
    }
    ~Vectors() {
        ok(runtime().cudaDeviceSynchronize());
        for (void *each : {a, b, c}) {
            ok(runtime().cudaFree(each));
        }
    }
    // Launches the kernel with these vectors.
    cudaError_t launch(const void *function, unsigned int threads = 1,
                       cudaStream_t stream = nullptr) {
        void *arguments[] = {&a, &b, &c, &count};
        return runtime().cudaLaunchKernel(function, {1, 1, 1}, {threads, 1, 1}, arguments, 0,
                                          stream);
    }
    bool added() {
        std::vector<float> sums(16);
        ok(runtime().cudaMemcpy(sums.data(), c, 64, cudaMemcpyDeviceToHost));
        return sums == std::vector<float>(16, 3.0f);
    }
};

} // namespace

TEST_CASE("a registered kernel is launched by its host address") {
    start(GENERATE_COPY(from_range(all_modes())));
    sim_control().register_kernel("add", add_vectors, nullptr);
    const Registered program;
    Vectors v;
    ok(v.launch(&program.add, 16));
    CHECK(v.added());
    const RuntimeStream stream;
    ok(runtime().cudaMemsetAsync(v.c, 0, 64, stream));
    void *arguments[] = {&v.a, &v.b, &v.c, &v.count};
    cudaLaunchConfig_t config{.gridDim = {1, 1, 1}, .blockDim = {16, 1, 1}, .stream = stream};
    ok(runtime().cudaLaunchKernelExC(&config, &program.add, arguments));
    ok(runtime().cudaStreamSynchronize(stream));
    CHECK(v.added());
    ok(runtime().cudaLaunchCooperativeKernel(&program.add, {1, 1, 1}, {16, 1, 1}, arguments, 0,
                                             stream));
}

#if CUDART_VERSION >= 12000
TEST_CASE("a kernel can be launched in a stream of a device that is not selected") {
    start("devices=2");
    sim_control().register_kernel("add", add_vectors, nullptr);
    const Registered program;
    require_ok(runtime().cudaSetDevice(1));
    const RuntimeStream stream;
    Vectors v;
    require_ok(runtime().cudaDeviceSynchronize());
    require_ok(runtime().cudaSetDevice(0));
    ok(v.launch(&program.add, 16, stream));
    ok(runtime().cudaStreamSynchronize(stream));
    CHECK(v.added());
}

#endif

TEST_CASE("a host function reaches registered variables, which the program copies into") {
    start("devices=2");
    struct Seen {
        int counter = 0;
        unsigned char flag = 0;
    } seen;
    sim_control().register_kernel(
        "add",
        [](const cushim_sim_launch *launch, void *user) {
            auto &result = *static_cast<Seen *>(user);
            const auto variable = [&](const char *name) {
                return sim_control().variable(launch, name, nullptr);
            };
            result.counter = *static_cast<int *>(variable("counter"));
            result.flag = *static_cast<unsigned char *>(variable("flags"));
            return 0;
        },
        &seen);
    const Registered program;
    for (int device = 0; device < 2; ++device) {
        require_ok(runtime().cudaSetDevice(device));
        Vectors v;
        CHECK(program.initialized());
        program.flags[0] = static_cast<unsigned char>(11 + device);
        const int counter = 100 + device;
        ok(runtime().cudaMemcpyToSymbol(&program.counter, &counter, sizeof counter, 0,
                                        cudaMemcpyHostToDevice));
        ok(v.launch(&program.add));
        ok(runtime().cudaDeviceSynchronize());
        CHECK(seen.counter == 100 + device);
        if (device == 0 || CUDART_VERSION >= 12000) { // an older runtime loads a module for each
            CHECK(seen.flag == 11 + device);
        }
    }
}

TEST_CASE("launching a function that is not registered fails") {
    const Registered program;
    Vectors v;
    CHECK(v.launch(&v) == cudaErrorInvalidDeviceFunction);
    expect_unknown_kernel();
    CHECK(v.launch(&program.missing) != cudaSuccess);
}

#if CUDART_VERSION >= 12010
TEST_CASE("compiled code whose image lacks the kernel launches null, which is not a misuse") {
    const auto get = runtime_function<cudaError_t(cudaKernel_t *, const void *)>("__cudaGetKernel");
    const auto launch =
        runtime_function<cudaError_t(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t)>(
            "__cudaLaunchKernel");
    const Registered program;
    cudaKernel_t kernel = nullptr;
    CHECK(get(&kernel, &program.missing) != cudaSuccess);
    CHECK(kernel == nullptr);
    CHECK(launch(kernel, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) ==
          cudaErrorInvalidDeviceFunction);
    CHECK(misuses().empty());
}
#endif

TEST_CASE("attributes of a kernel can be read and set by its host address") {
    const Registered program;
    cudaFuncAttributes found{};
    CHECK(got(runtime().cudaFuncGetAttributes(&found, &program.mixed), found).maxThreadsPerBlock ==
          256);
    CHECK(numbers(found.numRegs, found.sharedSizeBytes, found.localSizeBytes) ==
          numbers(40, 1024, 96));
    CHECK(runtime().cudaFuncGetAttributes(&found, &found) == cudaErrorInvalidDeviceFunction);
    expect_unknown_kernel();
}

TEST_CASE("a registered variable is accessed by its host address") {
    const Registered program;
    void *address = nullptr;
    ok(runtime().cudaGetSymbolAddress(&address, &program.counter));
    CHECK(got<size_t>(&Runtime::cudaGetSymbolSize, out, &program.counter) == 4);
    auto value = got<int>(&Runtime::cudaMemcpyFromSymbol, out, &program.counter, 4, 0,
                          cudaMemcpyDeviceToHost);
    CHECK(value == 42); // the initial value of the image
    value = 0x01020304;
    ok(runtime().cudaMemcpyToSymbol(&program.counter, &value, 2, 2, cudaMemcpyHostToDevice));
    CHECK(got(runtime().cudaMemcpy(&value, address, 4, cudaMemcpyDefault), value) == 0x0304002a);
    ok(runtime().cudaMemcpyToSymbolAsync(&program.counter, &value, 4, 0, cudaMemcpyDefault,
                                         nullptr));
    ok(runtime().cudaMemcpyFromSymbolAsync(&value, &program.counter, 4, 0, cudaMemcpyDefault,
                                           nullptr));
    ok(runtime().cudaDeviceSynchronize());
}

TEST_CASE("a kernel node reports the host function of its kernel") {
    const Registered program;
    const RuntimeGraph graph;
    void *nothing = nullptr;
    int number = 5;
    void *arguments[] = {&nothing, &nothing, &nothing, &number};
    cudaKernelNodeParams launch{}, back{};
    launch.func = const_cast<char *>(&program.add);
    launch.gridDim = {1, 2, 3};
    launch.blockDim = {4, 5, 6};
    launch.sharedMemBytes = 128;
    launch.kernelParams = arguments;
    const auto node =
        got<cudaGraphNode_t>(&Runtime::cudaGraphAddKernelNode, out, graph, nullptr, 0, &launch);
    CHECK(got(runtime().cudaGraphKernelNodeGetParams(node, &back), back).func == &program.add);
    CHECK(numbers(back.gridDim.z, back.blockDim.y, back.sharedMemBytes) == numbers(3, 5, 128));
}

#if CUDART_VERSION >= 12010
TEST_CASE("the launch functions called by code compiled with CUDA 13 launch a kernel") {
    start(GENERATE_COPY(from_range(all_modes())));
    sim_control().register_kernel("add", add_vectors, nullptr);
    const Registered program;
    Vectors v;
    cudaKernel_t kernel = nullptr;
    using Get = cudaError_t(cudaKernel_t *, const void *);
    using Launch = cudaError_t(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
    require_ok(runtime_function<Get>("__cudaGetKernel")(&kernel, &program.add));
    void *arguments[] = {&v.a, &v.b, &v.c, &v.count};
    const char *launch = GENERATE("__cudaLaunchKernel", "__cudaLaunchKernel_ptsz");
    ok(runtime_function<Launch>(launch)(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr));
    ok(runtime().cudaDeviceSynchronize());
    CHECK(v.added());
}
#endif

TEST_CASE("a managed variable is accessible to the host and by its address") {
    const Registered program;
    CHECK(program.flags == nullptr);
    CHECK(program.initialized());
    REQUIRE(program.flags != nullptr);
    CHECK(program.flags[0] == 7);
    program.flags[1] = 8;
    CHECK(got<void *>(&Runtime::cudaGetSymbolAddress, out, program.flags) == program.flags);
    CHECK(got<size_t>(&Runtime::cudaGetSymbolSize, out, program.flags) == 16);
    unsigned char values[2] = {};
    ok(runtime().cudaMemcpyFromSymbol(values, program.flags, 2, 0, cudaMemcpyDeviceToHost));
    CHECK(values[0] == 7);
    CHECK(values[1] == 8);
    CHECK(program.initialized()); // a second call changes nothing
    CHECK(program.flags[1] == 8);
}

TEST_CASE("all devices share a managed variable") {
    start("devices=2");
    const Registered program;
    REQUIRE(program.initialized());
    const unsigned char *const flags = program.flags;
    void *address = nullptr;
    require_ok(runtime().cudaSetDevice(1));
    ok(runtime().cudaGetSymbolAddress(&address, flags));
    CHECK(program.flags == flags);
    CHECK(address == flags);
    CHECK(got<unsigned char>(&Runtime::cudaMemcpyFromSymbol, out, flags, 1, 0,
                             cudaMemcpyDeviceToHost) == 7);
}

TEST_CASE("looking up a kernel initializes the managed variables of its image") {
    const Registered program;
    got<cudaFuncAttributes>(&Runtime::cudaFuncGetAttributes, out, &program.add);
    REQUIRE(program.flags != nullptr);
    CHECK(program.flags[0] == 7);
}

TEST_CASE("registered kernels survive a reset") {
    sim_control().register_kernel("add", add_vectors, nullptr);
    const Registered program;
    got<cudaFuncAttributes>(&Runtime::cudaFuncGetAttributes, out, &program.add);
    ok(runtime().cudaDeviceReset());
    {
        Vectors v;
        ok(v.launch(&program.add));
        CHECK(v.added());
    }
    start();
    got<cudaFuncAttributes>(&Runtime::cudaFuncGetAttributes, out, &program.add);
}

TEST_CASE("an invalid registered image fails at its first use") {
    FatBinary wrapper;
    wrapper.data = "this is not an image";
    char function = 0;
    const auto &code = CompiledCode::get();
    void **handle = code.image(&wrapper);
    code.function(handle, &function, nullptr, "f", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    CHECK(runtime().cudaLaunchKernel(&function, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) ==
          cudaErrorInvalidKernelImage);
    code.unregister(handle);
    CHECK(runtime().cudaLaunchKernel(&function, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) ==
          cudaErrorInvalidDeviceFunction);
    expect_unknown_kernel();
}

TEST_CASE("launch configurations form a stack") {
    const auto push =
        runtime_function<unsigned(dim3, dim3, size_t, void *)>("__cudaPushCallConfiguration");
    const auto pop = runtime_function<cudaError_t(dim3 *, dim3 *, size_t *, void *)>(
        "__cudaPopCallConfiguration");
    dim3 grid, block;
    size_t shared = 0;
    void *stream = nullptr;
    CHECK(pop(&grid, &block, &shared, &stream) == cudaErrorMissingConfiguration);
    CHECK(push({1, 2, 3}, {4, 5, 6}, 7, &grid) == 0);
    CHECK(push({2, 1, 1}, {1, 1, 1}, 0, nullptr) == 0);
    ok(pop(&grid, &block, &shared, &stream));
    CHECK(grid.x == 2);
    ok(pop(&grid, &block, &shared, &stream));
    CHECK(grid.z == 3);
    CHECK(block.y == 5);
    CHECK(shared == 7);
    CHECK(stream == &grid);
}

#if CUDART_VERSION >= 12080
TEST_CASE("the handle of a kernel can be launched like a host address") {
    sim_control().register_kernel("add", add_vectors, nullptr);
    const auto library = got<cudaLibrary_t>(&Runtime::cudaLibraryLoadData, out, vector_image,
                                            nullptr, nullptr, 0, nullptr, nullptr, 0);
    const auto kernel = got<cudaKernel_t>(&Runtime::cudaLibraryGetKernel, out, library, "add");
    {
        Vectors v;
        ok(v.launch(kernel));
        CHECK(v.added());
        CHECK(v.launch(kernel, 0) == cudaErrorInvalidValue);
    }
    ok(runtime().cudaLibraryUnload(library));
}
#endif
