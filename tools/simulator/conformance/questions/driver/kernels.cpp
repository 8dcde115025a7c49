// Functions, libraries, linking, occupancy, and launches with the API before CUDA 4.
#include "../../record.hpp"
#include "../ptx_file.hpp"

#include <string>

namespace record::QUESTIONS {

void functions() {
    if (!start()) {
        return;
    }
    const PtxFile file;
    CUmodule module = nullptr;
    CUfunction empty = nullptr, all[8] = {};
    ask("cuModuleLoad", d.cuModuleLoad(&module, file.path()));
    ask("cuModuleUnload", d.cuModuleUnload(module));
    module = nullptr; // a failed call leaves the previous handle
    ask("cuModuleLoadFatBinary of PTX", d.cuModuleLoadFatBinary(&module, ptx));
    ask("cuModuleUnload", d.cuModuleUnload(module));
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    ask("cuModuleLoadDataEx", d.cuModuleLoadDataEx(&module, ptx, 2, options, values));
    ask("cuModuleEnumerateFunctions", d.cuModuleEnumerateFunctions(all, 3, module));
    note("three are given", all[0] && all[1] && all[2]);
    ask("cuModuleEnumerateFunctions of 0", d.cuModuleEnumerateFunctions(all, 0, module));
    d.cuModuleGetFunction(&empty, module, "empty");
    ask("cuFuncLoad", d.cuFuncLoad(empty));
    ask("cuFuncSetCacheConfig", d.cuFuncSetCacheConfig(empty, CU_FUNC_CACHE_PREFER_L1));
    ask("cuFuncSetCacheConfig 77", d.cuFuncSetCacheConfig(empty, static_cast<CUfunc_cache>(77)));
    ask("cuFuncSetSharedMemConfig",
        d.cuFuncSetSharedMemConfig(empty, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE));
    ask("cuFuncSetSharedMemConfig 77",
        d.cuFuncSetSharedMemConfig(empty, static_cast<CUsharedconfig>(77)));
    ask("cuModuleUnload", d.cuModuleUnload(module));
}

void legacy_launches() {
    if (!start()) {
        return;
    }
    CUmodule module = nullptr;
    CUfunction empty = nullptr, add = nullptr;
    d.cuModuleLoadData(&module, ptx);
    d.cuModuleGetFunction(&empty, module, "empty");
    d.cuModuleGetFunction(&add, module, "add");
    ask("cuLaunch before the block's shape", d.cuLaunch(empty));
    ask("cuFuncSetBlockShape", d.cuFuncSetBlockShape(empty, 32, 1, 1));
    ask("cuFuncSetBlockShape 2048", d.cuFuncSetBlockShape(empty, 2048, 1, 1));
    ask("cuFuncSetBlockShape 0", d.cuFuncSetBlockShape(empty, 0, 1, 1));
    ask("cuFuncSetBlockShape", d.cuFuncSetBlockShape(empty, 32, 1, 1));
    ask("cuFuncSetSharedSize", d.cuFuncSetSharedSize(empty, 1024));
    ask("cuParamSetSize 0", d.cuParamSetSize(empty, 0));
    ask("cuLaunch", d.cuLaunch(empty));
    ask("cuLaunchGrid", d.cuLaunchGrid(empty, 2, 2));
    ask("cuLaunchGrid 0", d.cuLaunchGrid(empty, 0, 2));
    ask("cuLaunchGridAsync", d.cuLaunchGridAsync(empty, 2, 2, nullptr));
    ask("cuLaunchGridAsync 0", d.cuLaunchGridAsync(empty, 0, 2, nullptr));
    CUdeviceptr p = 0;
    ask("cuParamSetSize", d.cuParamSetSize(add, 12));
    ask("cuParamSetSize 1000000", d.cuParamSetSize(add, 1000000));
    d.cuParamSetSize(add, 12);
    ask("cuParamSetv", d.cuParamSetv(add, 0, &p, sizeof p));
    ask("cuParamSeti", d.cuParamSeti(add, 8, 0));
    ask("cuParamSetf", d.cuParamSetf(add, 8, 0.5f));
    ask("cuParamSeti at 1000000", d.cuParamSeti(add, 1000000, 0));
    d.cuFuncSetBlockShape(add, 1, 1, 1);
    ask("cuLaunch with parameters", d.cuLaunch(add));
    ask("cuCtxSynchronize", d.cuCtxSynchronize());
    CUDA_LAUNCH_PARAMS one{};
    one.function = empty;
    one.gridDimX = one.gridDimY = one.gridDimZ = 1;
    one.blockDimX = 32;
    one.blockDimY = one.blockDimZ = 1;
    d.cuStreamCreate(&one.hStream, 0);
    ask("cuLaunchCooperativeKernelMultiDevice", d.cuLaunchCooperativeKernelMultiDevice(&one, 1, 0));
    ask("cuLaunchCooperativeKernelMultiDevice flags 0x80",
        d.cuLaunchCooperativeKernelMultiDevice(&one, 1, 0x80));
    ask("cuCtxSynchronize", d.cuCtxSynchronize());
    d.cuStreamDestroy(one.hStream);
    d.cuModuleUnload(module);
}

void libraries() {
    if (!start()) {
        return;
    }
    const PtxFile file;
    CUlibrary library = nullptr, of = nullptr;
    CUkernel kernel = nullptr, all[8] = {};
    CUfunction function = nullptr;
    CUmodule module = nullptr;
    CUdeviceptr p = 0;
    std::size_t bytes = 0;
    void *unified = nullptr;
    ask("cuLibraryLoadFromFile of none",
        d.cuLibraryLoadFromFile(&library, "/nonexistent/file.ptx", nullptr, nullptr, 0, nullptr,
                                nullptr, 0));
    ask("cuLibraryLoadFromFile",
        d.cuLibraryLoadFromFile(&library, file.path(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    ask("cuLibraryUnload", d.cuLibraryUnload(library));
    d.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    ask("cuLibraryEnumerateKernels", d.cuLibraryEnumerateKernels(all, 3, library));
    note("three are given", all[0] && all[1] && all[2]);
    ask("cuLibraryEnumerateKernels of 0", d.cuLibraryEnumerateKernels(all, 0, library));
    d.cuLibraryGetKernel(&kernel, library, "empty");
    ask("cuKernelGetLibrary", d.cuKernelGetLibrary(&of, kernel));
    note("the library", of == library);
    ask("cuKernelGetFunction", d.cuKernelGetFunction(&function, kernel));
    ask("cuKernelSetAttribute",
        d.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 10, kernel,
                               0));
    ask("cuKernelSetAttribute, read only",
        d.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 32, kernel, 0));
    ask("cuKernelSetAttribute dev 99",
        d.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 10, kernel,
                               99));
    ask("cuKernelSetCacheConfig", d.cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0));
    ask("cuKernelSetCacheConfig dev 99",
        d.cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 99));
    ask("cuLibraryGetGlobal", d.cuLibraryGetGlobal(&p, &bytes, library, "table"));
    note("bytes", static_cast<long long>(bytes));
    ask("cuLibraryGetGlobal(missing)", d.cuLibraryGetGlobal(&p, &bytes, library, "nothing"));
    ask("cuLibraryGetModule", d.cuLibraryGetModule(&module, library));
    ask("cuLibraryGetManaged of a global", d.cuLibraryGetManaged(&p, &bytes, library, "table"));
    ask("cuLibraryGetUnifiedFunction(missing)",
        d.cuLibraryGetUnifiedFunction(&unified, library, "nothing"));
    ask("cuLibraryUnload", d.cuLibraryUnload(library));
    const std::string with_managed =
        std::string(ptx) + ".visible .global .attribute(.managed) .align 4 .u32 shared;\n";
    ask("cuLibraryLoadData with a managed variable",
        d.cuLibraryLoadData(&library, with_managed.c_str(), nullptr, nullptr, 0, nullptr, nullptr,
                            0));
    ask("cuLibraryGetManaged", d.cuLibraryGetManaged(&p, &bytes, library, "shared"));
    note("bytes", static_cast<long long>(bytes));
    ask("cuLibraryUnload", d.cuLibraryUnload(library));
}

void linking() {
    if (!start()) {
        return;
    }
    const PtxFile file;
    CUlinkState link = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    void *image = nullptr;
    std::size_t bytes = 0;
    ask("cuLinkCreate", d.cuLinkCreate(0, nullptr, nullptr, &link));
    ask("cuLinkAddFile of none",
        d.cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nonexistent/file.ptx", 0, nullptr, nullptr));
    ask("cuLinkAddFile", d.cuLinkAddFile(link, CU_JIT_INPUT_PTX, file.path(), 0, nullptr, nullptr));
    ask("cuLinkComplete", d.cuLinkComplete(link, &image, &bytes));
    ask("cuModuleLoadData", image ? d.cuModuleLoadData(&module, image) : CUDA_ERROR_UNKNOWN);
    ask("cuLinkDestroy", d.cuLinkDestroy(link));
    ask("cuModuleGetFunction", d.cuModuleGetFunction(&function, module, "empty"));
    ask("cuModuleUnload", d.cuModuleUnload(module));
}

void occupancy() {
    if (!start()) {
        return;
    }
    CUmodule module = nullptr;
    CUfunction empty = nullptr;
    d.cuModuleLoadData(&module, ptx);
    d.cuModuleGetFunction(&empty, module, "empty");
    int blocks = 0, grid = 0, block = 0, clusters = 0;
    std::size_t bytes = 0;
    ask("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        d.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, empty, 256, 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
    note("blocks", blocks);
    ask("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags flags 0x80",
        d.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, empty, 256, 0, 0x80));
    ask("cuOccupancyMaxPotentialBlockSize with a limit of 128",
        d.cuOccupancyMaxPotentialBlockSize(&grid, &block, empty, nullptr, 0, 128));
    note("block", block);
    ask("cuOccupancyMaxPotentialBlockSizeWithFlags",
        d.cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, empty, nullptr, 0, 0, 0));
    note("block", block);
    ask("cuOccupancyMaxPotentialBlockSizeWithFlags flags 0x80",
        d.cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, empty, nullptr, 0, 0, 0x80));
    ask("cuOccupancyAvailableDynamicSMemPerBlock",
        d.cuOccupancyAvailableDynamicSMemPerBlock(&bytes, empty, 2, 256));
    note("bytes", static_cast<long long>(bytes));
    ask("cuOccupancyAvailableDynamicSMemPerBlock of 1000 blocks",
        d.cuOccupancyAvailableDynamicSMemPerBlock(&bytes, empty, 1000, 256));
    CUlaunchConfig config{};
    config.gridDimX = 8;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    ask("cuOccupancyMaxPotentialClusterSize",
        d.cuOccupancyMaxPotentialClusterSize(&clusters, empty, &config));
    note("blocks of a cluster", clusters);
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 2;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    ask("cuOccupancyMaxActiveClusters", d.cuOccupancyMaxActiveClusters(&clusters, empty, &config));
    config.blockDimX = 4096;
    ask("cuOccupancyMaxActiveClusters block 4096",
        d.cuOccupancyMaxActiveClusters(&clusters, empty, &config));
    ask("cuOccupancyMaxPotentialClusterSize block 4096",
        d.cuOccupancyMaxPotentialClusterSize(&clusters, empty, &config));
    d.cuModuleUnload(module);
}

} // namespace record::QUESTIONS
