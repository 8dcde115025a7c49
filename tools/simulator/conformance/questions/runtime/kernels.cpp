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
    ask("cudaLibraryUnload", r.cudaLibraryUnload(library));
}

void variables(cudaLibrary_t library) {
    cudaLibrary_t managed = nullptr;
    void *p = nullptr;
    std::size_t size = 77;
    ask("cudaLibraryGetGlobal", r.cudaLibraryGetGlobal(&p, &size, library, "counter"));
    note("size", static_cast<long long>(size));
    ask("cudaLibraryGetGlobal of none", r.cudaLibraryGetGlobal(&p, &size, library, "nothing"));
    ask("cudaLibraryLoadData with a managed variable", load(managed, managed_ptx));
    ask("cudaLibraryGetManaged", r.cudaLibraryGetManaged(&p, &size, managed, "shared"));
    note("size", static_cast<long long>(size));
    ask("cudaLibraryGetManaged of none", r.cudaLibraryGetManaged(&p, &size, library, "nothing"));
    ask("cudaLibraryUnload", r.cudaLibraryUnload(managed));
    ask("cudaLibraryGetUnifiedFunction of none",
        r.cudaLibraryGetUnifiedFunction(&p, library, "nothing"));
}

} // namespace

void libraries() {
    if (!begin()) {
        return;
    }
    cudaLibrary_t library = nullptr, none = nullptr;
    cudaKernel_t kernels[8] = {}, found = nullptr;
    unsigned int count = 77;
    ask("cudaLibraryLoadData", load(library, ptx));
    ask("cudaLibraryGetKernel", r.cudaLibraryGetKernel(&found, library, "add"));
    ask("cudaLibraryGetKernel of none", r.cudaLibraryGetKernel(&found, library, "nothing"));
    ask("cudaLibraryGetKernelCount", r.cudaLibraryGetKernelCount(&count, library));
    note("kernels", count);
    ask("cudaLibraryEnumerateKernels", r.cudaLibraryEnumerateKernels(kernels, 8, library));
    note("the third is one", kernels[2] != nullptr);
    note("the fourth is null", kernels[3] == nullptr);
    variables(library);
    files();
    ask("cudaLibraryUnload", r.cudaLibraryUnload(library));
    ask("cudaLibraryLoadData(null)", load(none, nullptr));
    ask("cudaLibraryUnload(null)", r.cudaLibraryUnload(nullptr));
}
#else
void libraries() {}
#endif

namespace {

void attributes_of(void *add, void *limited) {
    cudaFuncAttributes found{};
    ask("cudaFuncGetAttributes(null)", r.cudaFuncGetAttributes(&found, nullptr));
    ask("cudaFuncGetAttributes", r.cudaFuncGetAttributes(&found, limited));
    note("maxThreadsPerBlock", found.maxThreadsPerBlock);
    note("sharedSizeBytes", static_cast<long long>(found.sharedSizeBytes));
    note("ptxVersion", found.ptxVersion);
    const auto dynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
    const auto unknown = static_cast<cudaFuncAttribute>(99);
    ask("cudaFuncSetAttribute(null)", r.cudaFuncSetAttribute(nullptr, dynamic, 4096));
    ask("cudaFuncSetAttribute(dynamic, 4096)", r.cudaFuncSetAttribute(add, dynamic, 4096));
    r.cudaFuncGetAttributes(&found, add);
    note("maxDynamicSharedSizeBytes", found.maxDynamicSharedSizeBytes);
    ask("cudaFuncSetAttribute(dynamic, 2^30)", r.cudaFuncSetAttribute(add, dynamic, 1 << 30));
    ask("cudaFuncSetAttribute(99)", r.cudaFuncSetAttribute(add, unknown, 1));
    ask("cudaFuncSetCacheConfig(shared)", r.cudaFuncSetCacheConfig(add, cudaFuncCachePreferShared));
    ask("cudaFuncSetCacheConfig(99)",
        r.cudaFuncSetCacheConfig(add, static_cast<cudaFuncCache>(99)));
    ask("cudaFuncSetCacheConfig(null)",
        r.cudaFuncSetCacheConfig(nullptr, cudaFuncCachePreferShared));
    ask("cudaFuncSetSharedMemConfig(8 bytes)",
        r.cudaFuncSetSharedMemConfig(add, cudaSharedMemBankSizeEightByte));
    ask("cudaFuncSetSharedMemConfig(null)",
        r.cudaFuncSetSharedMemConfig(nullptr, cudaSharedMemBankSizeEightByte));
#if CUDART_VERSION >= 12080
    ask("cudaKernelSetAttributeForDevice",
        r.cudaKernelSetAttributeForDevice(static_cast<cudaKernel_t>(add), dynamic, 2048, 0));
    ask("cudaKernelSetAttributeForDevice(99)",
        r.cudaKernelSetAttributeForDevice(static_cast<cudaKernel_t>(add), unknown, 1, 0));
    ask("cudaKernelSetAttributeForDevice(device 1000)",
        r.cudaKernelSetAttributeForDevice(static_cast<cudaKernel_t>(add), dynamic, 2048, 1000));
#endif
}

void handles_of(void *add) {
    cudaFunction_t function = nullptr;
    ask("cudaGetFuncBySymbol of a kernel", r.cudaGetFuncBySymbol(&function, add));
    ask("cudaGetFuncBySymbol(null)", r.cudaGetFuncBySymbol(&function, nullptr));
#if CUDART_VERSION >= 12010
    cudaKernel_t found = nullptr;
    ask("cudaGetKernel of a kernel", r.cudaGetKernel(&found, add));
    note("the same one", found == add);
    ask("cudaGetKernel(null)", r.cudaGetKernel(&found, nullptr));
#endif
#if CUDART_VERSION >= 12030
    const char *name = nullptr;
    ask("cudaFuncGetName", r.cudaFuncGetName(&name, add));
    note("name", name);
    ask("cudaFuncGetName(null)", r.cudaFuncGetName(&name, nullptr));
#endif
#if CUDART_VERSION >= 12040
    std::size_t offset = 77, size = 77;
    ask("cudaFuncGetParamInfo(1)", r.cudaFuncGetParamInfo(add, 1, &offset, &size));
    note("offset", static_cast<long long>(offset));
    note("size", static_cast<long long>(size));
    ask("cudaFuncGetParamInfo(2)", r.cudaFuncGetParamInfo(add, 2, &offset, &size));
#endif
}

} // namespace

void functions() {
    if (!begin()) {
        return;
    }
    cudaFuncAttributes found{};
    ask("cudaFuncGetAttributes(null)", r.cudaFuncGetAttributes(&found, nullptr));
    void *add = kernel("add"), *limited = kernel("limited");
    if (add != nullptr && limited != nullptr) {
        attributes_of(add, limited);
        handles_of(add);
    }
}

void launches() {
    if (!begin()) {
        return;
    }
    void *empty = kernel("empty"), *add = kernel("add"), *limited = kernel("limited");
    cudaStream_t s = nullptr;
    r.cudaStreamCreate(&s);
    const auto launch = [&](const char *what, const void *function, dim3 grid, dim3 block,
                            std::size_t shared, void **arguments) {
        const std::string of = what;
        ask(("cudaLaunchKernel " + of).c_str(),
            r.cudaLaunchKernel(function, grid, block, arguments, shared, s));
        ask(("cudaLaunchCooperativeKernel " + of).c_str(),
            r.cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, s));
        cudaLaunchConfig_t config{};
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = shared;
        config.stream = s;
        ask(("cudaLaunchKernelExC " + of).c_str(),
            r.cudaLaunchKernelExC(&config, function, arguments));
    };
    launch("of null", nullptr, {1, 1, 1}, {1, 1, 1}, 0, nullptr);
    ask("cudaGetLastError", r.cudaGetLastError());
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
    ask("cudaLaunchCooperativeKernel of more blocks than fit",
        r.cudaLaunchCooperativeKernel(empty, {1000000, 1, 1}, {1024, 1, 1}, nullptr, 0, s));
    ask("cudaLaunchKernel in the null stream",
        r.cudaLaunchKernel(empty, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    ask("cudaGetLastError", r.cudaGetLastError());
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
    ask("cudaOccupancyMaxActiveClusters", r.cudaOccupancyMaxActiveClusters(&value, empty, &config));
    note("there are some", value > 0);
    ask("cudaOccupancyMaxActiveClusters(null)",
        r.cudaOccupancyMaxActiveClusters(&value, nullptr, &config));
    config.numAttrs = 0;
    ask("cudaOccupancyMaxPotentialClusterSize",
        r.cudaOccupancyMaxPotentialClusterSize(&value, empty, &config));
    note("size", value);
    ask("cudaOccupancyMaxPotentialClusterSize(null)",
        r.cudaOccupancyMaxPotentialClusterSize(&value, nullptr, &config));
}
#endif

} // namespace

void occupancy() {
    if (!begin()) {
        return;
    }
    int blocks = 77;
    std::size_t shared = 77;
    ask("cudaOccupancyMaxActiveBlocksPerMultiprocessor(null)",
        r.cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nullptr, 256, 0));
    ask("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(null)",
        r.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, nullptr, 256, 0, 0));
    ask("cudaOccupancyAvailableDynamicSMemPerBlock(null)",
        r.cudaOccupancyAvailableDynamicSMemPerBlock(&shared, nullptr, 1, 256));
    void *empty = kernel("empty");
    if (empty == nullptr) {
        return;
    }
    for (const int threads : {32, 256, 1024, 0, 2048}) {
        const std::string of = ", blocks of " + std::to_string(threads);
        ask(("cudaOccupancyMaxActiveBlocksPerMultiprocessor" + of).c_str(),
            r.cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, threads, 0));
        ask(("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" + of).c_str(),
            r.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, empty, threads, 0,
                                                                     0));
    }
    r.cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 0);
    note("blocks of 256", blocks);
    ask("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(flags 77)",
        r.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, empty, 256, 0, 77));
    ask("cudaOccupancyAvailableDynamicSMemPerBlock",
        r.cudaOccupancyAvailableDynamicSMemPerBlock(&shared, empty, 1, 256));
    note("bytes", static_cast<long long>(shared));
#if CUDART_VERSION >= 11080
    clusters(empty);
#endif
}

} // namespace record::QUESTIONS::runtime
