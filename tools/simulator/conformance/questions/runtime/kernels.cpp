// Runtime libraries and kernels: attributes, launches, occupancy. Without nvcc's code, no host
// address identifies a kernel; a cudaKernel_t takes its place.
#include "../../runtime_questions.hpp"
#include "../ptx_file.hpp"

namespace record::QUESTIONS::runtime {
namespace {

[[maybe_unused]] const char managed_ptx[] = R"(.version 7.0
.target sm_70
.address_size 64
.global .attribute(.managed) .align 4 .u32 shared;
.visible .entry nothing()
{
    ret;
}
)";

} // namespace

#if CUDART_VERSION >= 12080
namespace {

cudaError_t load(cudaLibrary_t &library, const void *code) {
    return r.cudaLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

cudaError_t load_file(cudaLibrary_t &library, const char *path) {
    return r.cudaLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

void files() {
    cudaLibrary_t library = nullptr;
    ask("cudaLibraryLoadFromFile of no file", load_file(library, "/nonexistent/code.ptx"));
    const PtxFile file;
    ask("cudaLibraryLoadFromFile", load_file(library, file.path()));
    ASK(cudaLibraryUnload, "", library);
}

void variables(cudaLibrary_t library) {
    cudaLibrary_t managed = nullptr;
    void *p = nullptr;
    std::size_t size = 77;
    ASK(cudaLibraryGetGlobal, "", &p, &size, library, "counter").note("size", size);
    ASK(cudaLibraryGetGlobal, " of none", &p, &size, library, "nothing");
    ask("cudaLibraryLoadData with a managed variable", load(managed, managed_ptx));
    ASK(cudaLibraryGetManaged, "", &p, &size, managed, "shared").note("size", size);
    ASK(cudaLibraryGetManaged, " of none", &p, &size, library, "nothing");
    ASK(cudaLibraryUnload, "", managed);
    ASK(cudaLibraryGetUnifiedFunction, " of none", &p, library, "nothing");
}

} // namespace

SECTION_ONCE("libraries", begin) {
    cudaLibrary_t library = nullptr, none = nullptr;
    cudaKernel_t kernels[8] = {}, found = nullptr;
    unsigned int count = 77;
    ask("cudaLibraryLoadData", load(library, ptx));
    ASK(cudaLibraryGetKernel, "", &found, library, "add");
    ASK(cudaLibraryGetKernel, " of none", &found, library, "nothing");
    ASK(cudaLibraryGetKernelCount, "", &count, library).note("kernels", count);
    ASK(cudaLibraryEnumerateKernels, "", kernels, 8, library);
    note("the third is one", kernels[2] != nullptr);
    note("the fourth is null", kernels[3] == nullptr);
    variables(library);
    files();
    ASK(cudaLibraryUnload, "", library);
    ask("cudaLibraryLoadData(null)", load(none, nullptr));
    ASK(cudaLibraryUnload, "(null)", nullptr);
}
#else
void libraries() {}
#endif

namespace {

void attributes_of(void *add, void *limited) {
    cudaFuncAttributes found{};
    ASK(cudaFuncGetAttributes, "(null)", &found, nullptr);
    ASK(cudaFuncGetAttributes, "", &found, limited);
    note("maxThreadsPerBlock", found.maxThreadsPerBlock);
    note("sharedSizeBytes", found.sharedSizeBytes);
    note("ptxVersion", found.ptxVersion);
    const auto dynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
    const auto unknown = static_cast<cudaFuncAttribute>(99);
    ASK(cudaFuncSetAttribute, "(null)", nullptr, dynamic, 4096);
    ASK(cudaFuncSetAttribute, "(dynamic, 4096)", add, dynamic, 4096);
    r.cudaFuncGetAttributes(&found, add);
    note("maxDynamicSharedSizeBytes", found.maxDynamicSharedSizeBytes);
    ASK(cudaFuncSetAttribute, "(dynamic, 2^30)", add, dynamic, 1 << 30);
    ASK(cudaFuncSetAttribute, "(99)", add, unknown, 1);
    ASK(cudaFuncSetCacheConfig, "(shared)", add, cudaFuncCachePreferShared);
    ASK(cudaFuncSetCacheConfig, "(99)", add, static_cast<cudaFuncCache>(99));
    ASK(cudaFuncSetCacheConfig, "(null)", nullptr, cudaFuncCachePreferShared);
    ASK(cudaFuncSetSharedMemConfig, "(8 bytes)", add, cudaSharedMemBankSizeEightByte);
    ASK(cudaFuncSetSharedMemConfig, "(null)", nullptr, cudaSharedMemBankSizeEightByte);
#if CUDART_VERSION >= 12080
    ASK(cudaKernelSetAttributeForDevice, "", static_cast<cudaKernel_t>(add), dynamic, 2048, 0);
    ASK(cudaKernelSetAttributeForDevice, "(99)", static_cast<cudaKernel_t>(add), unknown, 1, 0);
    ASK(cudaKernelSetAttributeForDevice, "(device 1000)", static_cast<cudaKernel_t>(add), dynamic,
        2048, 1000);
#endif
}

void handles_of(void *add) {
    cudaFunction_t function = nullptr;
    ASK(cudaGetFuncBySymbol, " of a kernel", &function, add);
    ASK(cudaGetFuncBySymbol, "(null)", &function, nullptr);
#if CUDART_VERSION >= 12010
    cudaKernel_t found = nullptr;
    ASK(cudaGetKernel, " of a kernel", &found, add).note("the same one", found == add);
    ASK(cudaGetKernel, "(null)", &found, nullptr);
#endif
#if CUDART_VERSION >= 12030
    const char *name = nullptr;
    ASK(cudaFuncGetName, "", &name, add).note("name", name);
    ASK(cudaFuncGetName, "(null)", &name, nullptr);
#endif
#if CUDART_VERSION >= 12040
    std::size_t offset = 77, size = 77;
    ASK(cudaFuncGetParamInfo, "(1)", add, 1, &offset, &size).note("offset", offset);
    note("size", size);
    ASK(cudaFuncGetParamInfo, "(2)", add, 2, &offset, &size);
#endif
}

} // namespace

SECTION_ONCE("functions", begin) {
    cudaFuncAttributes found{};
    ASK(cudaFuncGetAttributes, "(null)", &found, nullptr);
    void *add = kernel("add"), *limited = kernel("limited");
    if (add != nullptr && limited != nullptr) {
        attributes_of(add, limited);
        handles_of(add);
    }
}

SECTION("launches", begin) {
    void *empty = kernel("empty"), *add = kernel("add"), *limited = kernel("limited");
    cudaStream_t s = MAKE(cudaStreamCreate);
    const auto launch = [&](const char *what, const void *function, dim3 grid, dim3 block,
                            std::size_t shared, void **arguments) {
        const std::string of = what;
        ask("cudaLaunchKernel " + of,
            r.cudaLaunchKernel(function, grid, block, arguments, shared, s));
        ask("cudaLaunchCooperativeKernel " + of,
            r.cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, s));
        cudaLaunchConfig_t config{
            .gridDim = grid, .blockDim = block, .dynamicSmemBytes = shared, .stream = s};
        ask("cudaLaunchKernelExC " + of, r.cudaLaunchKernelExC(&config, function, arguments));
    };
    launch("of null", nullptr, {1, 1, 1}, {1, 1, 1}, 0, nullptr);
    ASK(cudaGetLastError, "");
    if (empty == nullptr || add == nullptr || limited == nullptr) {
        return;
    }
    launch("of one thread", empty, {1, 1, 1}, {1, 1, 1}, 0, nullptr);
    void *p = nullptr;
    unsigned int n = 0;
    void *arguments[] = {&p, &n};
    launch("with arguments", add, {2, 1, 1}, {32, 1, 1}, 0, arguments);
    launch("of no block", empty, {0, 1, 1}, {1, 1, 1}, 0, nullptr);
    launch("of blocks of no thread", empty, {1, 1, 1}, {1, 0, 1}, 0, nullptr);
    launch("of 2048 threads", empty, {1, 1, 1}, {2048, 1, 1}, 0, nullptr);
    launch("of 32 x 32 x 2 threads", empty, {1, 1, 1}, {32, 32, 2}, 0, nullptr);
    launch("of 70000 rows of blocks", empty, {1, 70000, 1}, {1, 1, 1}, 0, nullptr);
    launch("of more threads than its limit", limited, {1, 1, 1}, {128, 1, 1}, 0, nullptr);
    launch("of 2^20 bytes of shared memory", empty, {1, 1, 1}, {1, 1, 1}, 1 << 20, nullptr);
    ASK(cudaLaunchCooperativeKernel, " of more blocks than fit", empty, {1000000, 1, 1},
        {1024, 1, 1}, nullptr, 0, s);
    ASK(cudaLaunchKernel, " in the null stream", empty, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr);
    ASK(cudaStreamSynchronize, "", s);
    ASK(cudaDeviceSynchronize, "");
    ASK(cudaGetLastError, "");
    r.cudaStreamDestroy(s);
}

namespace {

#if CUDART_VERSION >= 11080
void clusters(void *empty) {
    cudaLaunchConfig_t config{};
    cudaLaunchAttribute attribute{};
    config.gridDim = {16, 1, 1};
    config.blockDim = {128, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    int value = 77;
    ASK(cudaOccupancyMaxActiveClusters, "", &value, empty, &config);
    note("there are some", value > 0);
    ASK(cudaOccupancyMaxActiveClusters, "(null)", &value, nullptr, &config);
    config.numAttrs = 0;
    ASK(cudaOccupancyMaxPotentialClusterSize, "", &value, empty, &config).note("size", value);
    ASK(cudaOccupancyMaxPotentialClusterSize, "(null)", &value, nullptr, &config);
}
#endif

} // namespace

SECTION_ONCE("occupancy", begin) {
    int blocks = 77;
    std::size_t shared = 77;
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor, "(null)", &blocks, nullptr, 256, 0);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, "(null)", &blocks, nullptr, 256, 0,
        0);
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock, "(null)", &shared, nullptr, 1, 256);
    void *empty = kernel("empty");
    if (empty == nullptr) {
        return;
    }
    for (const int threads : {32, 256, 1024, 0, 2048}) {
        const std::string of = ", blocks of " + std::to_string(threads);
        ask("cudaOccupancyMaxActiveBlocksPerMultiprocessor" + of,
            r.cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, threads, 0));
        ask("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" + of,
            r.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, empty, threads, 0,
                                                                     0));
    }
    r.cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 0);
    note("blocks of 256", blocks);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, "(flags 77)", &blocks, empty, 256,
        0, 77);
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock, "", &shared, empty, 1, 256);
    note("bytes", shared);
#if CUDART_VERSION >= 11080
    clusters(empty);
#endif
}

} // namespace record::QUESTIONS::runtime
