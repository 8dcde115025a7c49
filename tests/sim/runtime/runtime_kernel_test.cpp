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
            REQUIRE(r.cudaMalloc(each, 64) == cudaSuccess);
        }
        REQUIRE(r.cudaMemcpy(a, ones.data(), 64, cudaMemcpyHostToDevice) == cudaSuccess);
        REQUIRE(r.cudaMemcpy(b, twos.data(), 64, cudaMemcpyHostToDevice) == cudaSuccess);
        REQUIRE(r.cudaMemset(c, 0, 64) == cudaSuccess);
    }
    ~Vectors() {
        CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
        for (void *each : {a, b, c}) {
            CHECK(r.cudaFree(each) == cudaSuccess);
        }
    }
    // Launches the kernel with these vectors.
    cudaError_t launch(const void *function, unsigned int threads = 1,
                       cudaStream_t stream = nullptr) {
        void *arguments[] = {&a, &b, &c, &count};
        return r.cudaLaunchKernel(function, {1, 1, 1}, {threads, 1, 1}, arguments, 0, stream);
    }
    bool added() {
        std::vector<float> sums(16);
        CHECK(r.cudaMemcpy(sums.data(), c, 64, cudaMemcpyDeviceToHost) == cudaSuccess);
        return sums == std::vector<float>(16, 3.0f);
    }
};

} // namespace

TEST_CASE("a registered kernel is launched by its host address") {
    start(GENERATE_COPY(from_range(all_modes())));
    sim_control().register_kernel("add", add_vectors, nullptr);
    const Registered program;
    Vectors v;
    CHECK(v.launch(&program.add, 16) == cudaSuccess);
    CHECK(v.added());
    const RuntimeStream stream;
    CHECK(r.cudaMemsetAsync(v.c, 0, 64, stream) == cudaSuccess);
    void *arguments[] = {&v.a, &v.b, &v.c, &v.count};
    cudaLaunchConfig_t config{.gridDim = {1, 1, 1}, .blockDim = {16, 1, 1}, .stream = stream};
    CHECK(r.cudaLaunchKernelExC(&config, &program.add, arguments) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(v.added());
    CHECK(r.cudaLaunchCooperativeKernel(&program.add, {1, 1, 1}, {16, 1, 1}, arguments, 0,
                                        stream) == cudaSuccess);
}

#if CUDART_VERSION >= 12000
TEST_CASE("a kernel can be launched in a stream of a device that is not selected") {
    start("devices=2");
    sim_control().register_kernel("add", add_vectors, nullptr);
    const Registered program;
    REQUIRE(r.cudaSetDevice(1) == cudaSuccess);
    const RuntimeStream stream;
    Vectors v;
    REQUIRE(r.cudaDeviceSynchronize() == cudaSuccess);
    REQUIRE(r.cudaSetDevice(0) == cudaSuccess);
    CHECK(v.launch(&program.add, 16, stream) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(v.added());
}

#endif

TEST_CASE("arguments of runtime launches are checked") {
    const Registered program;
    Vectors v;
    void *arguments[] = {&v.a, &v.b, &v.c, &v.count};
    const auto launch = [&](const void *function, dim3 grid = {1, 1, 1}, dim3 block = {1, 1, 1},
                            size_t shared = 0) {
        return r.cudaLaunchKernel(function, grid, block, arguments, shared, nullptr);
    };
    const void *const add = &program.add;
    CHECK(launch(nullptr) == cudaErrorInvalidDeviceFunction);
    CHECK(launch(&arguments) == cudaErrorInvalidDeviceFunction);
    expect_unknown_kernel();
    check_all(cudaErrorInvalidConfiguration,
              {launch(add, {0, 1, 1}), launch(add, {1, 1, 1}, {1, 0, 1}),
               launch(add, {1, 1, 1}, {2048, 1, 1}), launch(add, {1, 1, 1}, {32, 32, 2}),
               launch(add, {1, 70000, 1})});
    check_all(cudaErrorInvalidValue, {launch(add, {1, 1, 1}, {1, 1, 1}, 1 << 20),
                                      launch(add, {1, 1, 1}, {1, 1, 1}, size_t(1) << 33),
                                      r.cudaLaunchKernelExC(nullptr, add, arguments)});
    arguments[2] = nullptr;
    CHECK(launch(add) == cudaErrorInvalidValue);
    CHECK(launch(&program.missing) != cudaSuccess);
}

TEST_CASE("attributes of a kernel can be read and set by its host address") {
    const Registered program;
    cudaFuncAttributes found{};
    CHECK(got(r.cudaFuncGetAttributes(&found, &program.mixed), found).maxThreadsPerBlock == 256);
    CHECK(numbers(found.numRegs, found.sharedSizeBytes, found.localSizeBytes) ==
          numbers(40, 1024, 96));
    CHECK(r.cudaFuncSetAttribute(&program.mixed, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 4096) == cudaSuccess);
    CHECK(r.cudaFuncGetAttributes(&found, &program.mixed) == cudaSuccess);
    CHECK(found.maxDynamicSharedSizeBytes == 4096);
    // Attributes that cannot be set are rejected before the kernel is checked.
    for (const int none : {int(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 99}) {
        CHECK(r.cudaFuncSetAttribute(nullptr, static_cast<cudaFuncAttribute>(none), 1) ==
              cudaErrorInvalidValue);
    }
    CHECK(r.cudaFuncSetCacheConfig(&program.mixed, cudaFuncCachePreferShared) == cudaSuccess);
    CHECK(r.cudaFuncGetAttributes(&found, &found) == cudaErrorInvalidDeviceFunction);
    expect_unknown_kernel();
    CHECK(r.cudaFuncGetAttributes(nullptr, &program.mixed) == cudaErrorInvalidValue);
    int blocks = 0;
    CHECK(r.cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &program.mixed, 128, 0) ==
          cudaSuccess);
    CHECK(blocks > 0);
    CHECK(r.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
              &blocks, &program.mixed, 128, 0, cudaOccupancyDefault) == cudaSuccess);
    CHECK(got<size_t>(&Runtime::cudaOccupancyAvailableDynamicSMemPerBlock, out, &program.mixed, 1,
                      128) > 0);
#if CUDART_VERSION >= 12040
    const char *name = nullptr;
    REQUIRE(got(r.cudaFuncGetName(&name, &program.mixed), name) != nullptr);
    CHECK(std::string(name) == "mixed");
    size_t offset = 0, size = 0;
    CHECK(got(r.cudaFuncGetParamInfo(&program.mixed, 2, &offset, &size), offset) == 8);
    CHECK(size == 8);
    CHECK(r.cudaFuncGetParamInfo(&program.mixed, 99, &offset, &size) == cudaErrorInvalidValue);
#endif
}

TEST_CASE("a registered variable is accessed by its host address") {
    const Registered program;
    void *address = nullptr;
    size_t size = 0;
    CHECK(r.cudaGetSymbolAddress(&address, &program.counter) == cudaSuccess);
    CHECK(got(r.cudaGetSymbolSize(&size, &program.counter), size) == 4);
    int value = 0;
    CHECK(r.cudaMemcpyFromSymbol(&value, &program.counter, 4, 0, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    CHECK(value == 42); // the initial value of the image
    value = 0x01020304;
    CHECK(r.cudaMemcpyToSymbol(&program.counter, &value, 2, 2, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    CHECK(got(r.cudaMemcpy(&value, address, 4, cudaMemcpyDefault), value) == 0x0304002a);
    CHECK(r.cudaMemcpyToSymbolAsync(&program.counter, &value, 4, 0, cudaMemcpyDefault, nullptr) ==
          cudaSuccess);
    CHECK(r.cudaMemcpyFromSymbolAsync(&value, &program.counter, 4, 0, cudaMemcpyDefault, nullptr) ==
          cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(r.cudaMemcpyToSymbol(&program.counter, &value, 3, 2, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidValue);
    CHECK(r.cudaMemcpyToSymbol(&program.counter, &value, 4, 0, cudaMemcpyDeviceToHost) ==
          cudaErrorInvalidMemcpyDirection);
    check_all(cudaErrorInvalidSymbol,
              {r.cudaGetSymbolAddress(&address, &value), r.cudaGetSymbolSize(&size, nullptr),
               r.cudaGetSymbolSize(nullptr, nullptr)});
    CHECK(r.cudaGetSymbolSize(nullptr, &program.counter) == cudaErrorInvalidValue);
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
    cudaGraphNode_t node = nullptr;
    CHECK(r.cudaGraphAddKernelNode(&node, graph, nullptr, 0, &launch) == cudaSuccess);
    CHECK(got(r.cudaGraphKernelNodeGetParams(node, &back), back).func == &program.add);
    CHECK(numbers(back.gridDim.z, back.blockDim.y, back.sharedMemBytes) == numbers(3, 5, 128));
}

#if CUDART_VERSION >= 12010
TEST_CASE("the launch functions called by code compiled with CUDA 13 launch a kernel") {
    start(GENERATE_COPY(from_range(all_modes())));
    sim_control().register_kernel("add", add_vectors, nullptr);
    const Registered program;
    Vectors v;
    cudaKernel_t kernel = nullptr;
    using Get = cudaError_t (*)(cudaKernel_t *, const void *);
    using Launch = cudaError_t (*)(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
    REQUIRE(runtime_function<Get>("__cudaGetKernel")(&kernel, &program.add) == cudaSuccess);
    void *arguments[] = {&v.a, &v.b, &v.c, &v.count};
    const char *launch = GENERATE("__cudaLaunchKernel", "__cudaLaunchKernel_ptsz");
    CHECK(runtime_function<Launch>(launch)(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr) ==
          cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
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
    CHECK(r.cudaMemcpyFromSymbol(values, program.flags, 2, 0, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
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
    REQUIRE(r.cudaSetDevice(1) == cudaSuccess);
    CHECK(r.cudaGetSymbolAddress(&address, flags) == cudaSuccess);
    CHECK(program.flags == flags);
    CHECK(address == flags);
    CHECK(got<unsigned char>(&Runtime::cudaMemcpyFromSymbol, out, flags, 1, 0,
                             cudaMemcpyDeviceToHost) == 7);
}

TEST_CASE("looking up a kernel initializes the managed variables of its image") {
    const Registered program;
    cudaFuncAttributes attributes{};
    REQUIRE(got(r.cudaFuncGetAttributes(&attributes, &program.add), program).flags != nullptr);
    CHECK(program.flags[0] == 7);
}

TEST_CASE("registered kernels survive a reset") {
    sim_control().register_kernel("add", add_vectors, nullptr);
    const Registered program;
    cudaFuncAttributes found{};
    CHECK(r.cudaFuncGetAttributes(&found, &program.add) == cudaSuccess);
    CHECK(r.cudaDeviceReset() == cudaSuccess);
    {
        Vectors v;
        CHECK(v.launch(&program.add) == cudaSuccess);
        CHECK(v.added());
    }
    start();
    CHECK(r.cudaFuncGetAttributes(&found, &program.add) == cudaSuccess);
}

TEST_CASE("an invalid registered image fails at its first use") {
    FatBinary wrapper;
    wrapper.data = "this is no image";
    char function = 0;
    void **handle = runtime_function<void **(*)(void *)>("__cudaRegisterFatBinary")(&wrapper);
    runtime_function<void (*)(void **, const char *, char *, const char *, int, void *, void *,
                              void *, void *, int *)>("__cudaRegisterFunction")(
        handle, &function, nullptr, "f", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    CHECK(r.cudaLaunchKernel(&function, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) ==
          cudaErrorInvalidKernelImage);
    runtime_function<void (*)(void **)>("__cudaUnregisterFatBinary")(handle);
    CHECK(r.cudaLaunchKernel(&function, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) ==
          cudaErrorInvalidDeviceFunction);
    expect_unknown_kernel();
}

TEST_CASE("launch configurations form a stack") {
    const auto push =
        runtime_function<unsigned (*)(dim3, dim3, size_t, void *)>("__cudaPushCallConfiguration");
    const auto pop = runtime_function<cudaError_t (*)(dim3 *, dim3 *, size_t *, void *)>(
        "__cudaPopCallConfiguration");
    dim3 grid, block;
    size_t shared = 0;
    void *stream = nullptr;
    CHECK(pop(&grid, &block, &shared, &stream) == cudaErrorMissingConfiguration);
    CHECK(push({1, 2, 3}, {4, 5, 6}, 7, &grid) == 0);
    CHECK(push({2, 1, 1}, {1, 1, 1}, 0, nullptr) == 0);
    CHECK(pop(&grid, &block, &shared, &stream) == cudaSuccess);
    CHECK(grid.x == 2);
    CHECK(pop(&grid, &block, &shared, &stream) == cudaSuccess);
    CHECK(grid.z == 3);
    CHECK(block.y == 5);
    CHECK(shared == 7);
    CHECK(stream == &grid);
}

#if CUDART_VERSION >= 12080
TEST_CASE("a library loaded by the client provides kernels and variables") {
    sim_control().register_kernel("add", add_vectors, nullptr);
    cudaLibrary_t library = nullptr;
    REQUIRE(r.cudaLibraryLoadData(&library, vector_image, nullptr, nullptr, 0, nullptr, nullptr,
                                  0) == cudaSuccess);
    cudaKernel_t kernel = nullptr;
    CHECK(r.cudaLibraryGetKernel(&kernel, library, "add") == cudaSuccess);
    CHECK(r.cudaLibraryGetKernel(&kernel, library, "nope") == cudaErrorSymbolNotFound);
    REQUIRE(r.cudaLibraryGetKernel(&kernel, library, "add") == cudaSuccess);
    unsigned int count = 0;
    CHECK(got(r.cudaLibraryGetKernelCount(&count, library), count) == 3);
    std::vector<cudaKernel_t> all(count);
    CHECK(r.cudaLibraryEnumerateKernels(all.data(), count, library) == cudaSuccess);
    void *address = nullptr;
    CHECK(got<size_t>(&Runtime::cudaLibraryGetGlobal, &address, out, library, "buffer") == 4096);
    CHECK(got<size_t>(&Runtime::cudaLibraryGetManaged, &address, out, library, "flags") == 16);
    {
        Vectors v;
        // The handle of a kernel can be launched like a host address.
        CHECK(v.launch(kernel) == cudaSuccess);
        CHECK(v.added());
        // The driver's status for an invalid shape.
        CHECK(v.launch(kernel, 0) == cudaErrorInvalidValue);
    }
    // Lookups by host address reject the handle.
    cudaKernel_t same = nullptr;
    CHECK(r.cudaGetKernel(&same, kernel) == cudaErrorInvalidDeviceFunction);
    cudaFunction_t function = nullptr;
    CHECK(r.cudaGetFuncBySymbol(&function, kernel) == cudaErrorInvalidDeviceFunction);
    CHECK(r.cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            2048, 0) == cudaSuccess);
    CHECK(r.cudaLibraryUnload(library) == cudaSuccess);
    CHECK(r.cudaLibraryLoadData(&library, "garbage", nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          cudaErrorInvalidKernelImage);
    CHECK(r.cudaLibraryLoadFromFile(&library, "/no/such/file", nullptr, nullptr, 0, nullptr,
                                    nullptr, 0) == cudaErrorFileNotFound);
}
#endif
