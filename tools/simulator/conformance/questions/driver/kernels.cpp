// Functions, libraries, linking, occupancy, and launches with the API before CUDA 4.
#include "../parameters.hpp"
#include "../ptx_file.hpp"

#include <string>

namespace record::QUESTIONS {

SECTION("functions", start) {
    const PtxFile file;
    CUmodule module = nullptr;
    CUfunction empty = nullptr, all[8] = {};
    ASK(cuModuleLoad, "", &module, file.path());
    ASK(cuModuleUnload, "", module);
    module = nullptr; // a failed call leaves the previous handle
    ASK(cuModuleLoadFatBinary, " of PTX", &module, ptx);
    ASK(cuModuleUnload, "", module);
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    ASK(cuModuleLoadDataEx, "", &module, ptx, 2, options, values);
    ASK(cuModuleEnumerateFunctions, "", all, 3, module);
    note("three are given", all[0] && all[1] && all[2]);
    ASK(cuModuleEnumerateFunctions, " of 0", all, 0, module);
    d.cuModuleGetFunction(&empty, module, "empty");
    ASK(cuFuncLoad, "", empty);
    ASK(cuFuncSetCacheConfig, "", empty, CU_FUNC_CACHE_PREFER_L1);
    ASK(cuFuncSetCacheConfig, " 77", empty, static_cast<CUfunc_cache>(77));
    ASK(cuFuncSetSharedMemConfig, "", empty, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    ASK(cuFuncSetSharedMemConfig, " 77", empty, static_cast<CUsharedconfig>(77));
    ASK(cuModuleUnload, "", module);
}

SECTION("legacy_launches", start) {
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    CUfunction empty = MAKE(cuModuleGetFunction, module, "empty");
    CUfunction add = MAKE(cuModuleGetFunction, module, "add");
    ASK(cuLaunch, " before the block's shape", empty);
    ASK(cuFuncSetBlockShape, "", empty, 32, 1, 1);
    ASK(cuFuncSetBlockShape, " 2048", empty, 2048, 1, 1);
    ASK(cuFuncSetBlockShape, " 0", empty, 0, 1, 1);
    ASK(cuFuncSetBlockShape, "", empty, 32, 1, 1);
    ASK(cuFuncSetSharedSize, "", empty, 1024);
    ASK(cuParamSetSize, " 0", empty, 0);
    ASK(cuLaunch, "", empty);
    ASK(cuLaunchGrid, "", empty, 2, 2);
    ASK(cuLaunchGrid, " 0", empty, 0, 2);
    ASK(cuLaunchGridAsync, "", empty, 2, 2, nullptr);
    ASK(cuLaunchGridAsync, " 0", empty, 0, 2, nullptr);
    CUdeviceptr p = 0;
    ASK(cuParamSetSize, "", add, 12);
    ASK(cuParamSetSize, " 1000000", add, 1000000);
    d.cuParamSetSize(add, 12);
    ASK(cuParamSetv, "", add, 0, &p, sizeof p);
    ASK(cuParamSeti, "", add, 8, 0);
    ASK(cuParamSetf, "", add, 8, 0.5f);
    ASK(cuParamSeti, " at 1000000", add, 1000000, 0);
    d.cuFuncSetBlockShape(add, 1, 1, 1);
    ASK(cuLaunch, " with parameters", add);
    ASK(cuCtxSynchronize, "");
    auto one = launch_of<CUDA_LAUNCH_PARAMS>(32);
    one.function = empty;
    d.cuStreamCreate(&one.hStream, 0);
    ASK(cuLaunchCooperativeKernelMultiDevice, "", &one, 1, 0);
    ASK(cuLaunchCooperativeKernelMultiDevice, " flags 0x80", &one, 1, 0x80);
    ASK(cuCtxSynchronize, "");
    d.cuStreamDestroy(one.hStream);
    d.cuModuleUnload(module);
}

SECTION("libraries", start) {
    const PtxFile file;
    CUlibrary library = nullptr, of = nullptr;
    CUkernel kernel = nullptr, all[8] = {};
    CUfunction function = nullptr;
    CUmodule module = nullptr;
    CUdeviceptr p = 0;
    std::size_t bytes = 0;
    void *unified = nullptr;
    ASK(cuLibraryLoadFromFile, " of none", &library, "/nonexistent/file.ptx", nullptr, nullptr, 0,
        nullptr, nullptr, 0);
    ASK(cuLibraryLoadFromFile, "", &library, file.path(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    ASK(cuLibraryUnload, "", library);
    d.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    ASK(cuLibraryEnumerateKernels, "", all, 3, library);
    note("three are given", all[0] && all[1] && all[2]);
    ASK(cuLibraryEnumerateKernels, " of 0", all, 0, library);
    d.cuLibraryGetKernel(&kernel, library, "empty");
    ASK(cuKernelGetLibrary, "", &of, kernel).note("the library", of == library);
    ASK(cuKernelGetFunction, "", &function, kernel);
    ASK(cuKernelSetAttribute, "", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 10, kernel,
        0);
    ASK(cuKernelSetAttribute, ", read only", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 32, kernel,
        0);
    ASK(cuKernelSetAttribute, " dev 99", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 10,
        kernel, 99);
    ASK(cuKernelSetCacheConfig, "", kernel, CU_FUNC_CACHE_PREFER_L1, 0);
    ASK(cuKernelSetCacheConfig, " dev 99", kernel, CU_FUNC_CACHE_PREFER_L1, 99);
    ASK(cuLibraryGetGlobal, "", &p, &bytes, library, "table").note("bytes", bytes);
    ASK(cuLibraryGetGlobal, "(missing)", &p, &bytes, library, "nothing");
    ASK(cuLibraryGetModule, "", &module, library);
    ASK(cuLibraryGetManaged, " of a global", &p, &bytes, library, "table");
    ASK(cuLibraryGetUnifiedFunction, "(missing)", &unified, library, "nothing");
    ASK(cuLibraryUnload, "", library);
    const std::string with_managed =
        std::string(ptx) + ".visible .global .attribute(.managed) .align 4 .u32 shared;\n";
    ASK(cuLibraryLoadData, " with a managed variable", &library, with_managed.c_str(), nullptr,
        nullptr, 0, nullptr, nullptr, 0);
    ASK(cuLibraryGetManaged, "", &p, &bytes, library, "shared").note("bytes", bytes);
    ASK(cuLibraryUnload, "", library);
}

SECTION("linking", start) {
    const PtxFile file;
    CUlinkState link = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    void *image = nullptr;
    std::size_t bytes = 0;
    ASK(cuLinkCreate, "", 0, nullptr, nullptr, &link);
    ASK(cuLinkAddFile, " of none", link, CU_JIT_INPUT_PTX, "/nonexistent/file.ptx", 0, nullptr,
        nullptr);
    ASK(cuLinkAddFile, "", link, CU_JIT_INPUT_PTX, file.path(), 0, nullptr, nullptr);
    ASK(cuLinkComplete, "", link, &image, &bytes);
    ask("cuModuleLoadData", image ? d.cuModuleLoadData(&module, image) : CUDA_ERROR_UNKNOWN);
    ASK(cuLinkDestroy, "", link);
    ASK(cuModuleGetFunction, "", &function, module, "empty");
    ASK(cuModuleUnload, "", module);
}

SECTION("occupancy", start) {
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    CUfunction empty = MAKE(cuModuleGetFunction, module, "empty");
    int blocks = 0, grid = 0, block = 0, clusters = 0;
    std::size_t bytes = 0;
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, "", &blocks, empty, 256, 0,
        CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        .note("blocks", blocks);
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, " flags 0x80", &blocks, empty, 256, 0,
        0x80);
    ASK(cuOccupancyMaxPotentialBlockSize, " with a limit of 128", &grid, &block, empty, nullptr, 0,
        128)
        .note("block", block);
    ASK(cuOccupancyMaxPotentialBlockSizeWithFlags, "", &grid, &block, empty, nullptr, 0, 0, 0);
    note("block", block);
    ASK(cuOccupancyMaxPotentialBlockSizeWithFlags, " flags 0x80", &grid, &block, empty, nullptr, 0,
        0, 0x80);
    ASK(cuOccupancyAvailableDynamicSMemPerBlock, "", &bytes, empty, 2, 256).note("bytes", bytes);
    ASK(cuOccupancyAvailableDynamicSMemPerBlock, " of 1000 blocks", &bytes, empty, 1000, 256);
    auto config = launch_of<CUlaunchConfig>(32);
    config.gridDimX = 8;
    ASK(cuOccupancyMaxPotentialClusterSize, "", &clusters, empty, &config);
    note("blocks of a cluster", clusters);
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 2;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    ASK(cuOccupancyMaxActiveClusters, "", &clusters, empty, &config);
    config.blockDimX = 4096;
    ASK(cuOccupancyMaxActiveClusters, " block 4096", &clusters, empty, &config);
    ASK(cuOccupancyMaxPotentialClusterSize, " block 4096", &clusters, empty, &config);
    d.cuModuleUnload(module);
}

} // namespace record::QUESTIONS
