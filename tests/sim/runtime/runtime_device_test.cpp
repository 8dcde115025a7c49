// Devices of the runtime: each property equals a driver attribute.
#include "handles.hpp"

using namespace sim_test;

namespace {

struct Property {
    template <class T>
    Property(const char *of, T member, CUdevice_attribute equal)
        : name(of), value(static_cast<long long>(member)), attribute(equal) {}
    const char *name;
    long long value;
    CUdevice_attribute attribute;
};

cudaDeviceProp properties(int device = 0) {
    cudaDeviceProp prop;
    std::memset(static_cast<void *>(&prop), 0xa5, sizeof prop);
    require_ok(runtime().cudaGetDeviceProperties(&prop, device));
    return prop;
}

} // namespace

TEST_CASE("device properties include name, memory, capability, UUID and PCI address") {
    start("devices=2;name=Tester 9000;memory=3GiB;cc=8.6");
    const cudaDeviceProp first = properties(0), second = properties(1);
    CHECK(std::string(first.name) == "Tester 9000");
    CHECK(first.totalGlobalMem == std::size_t(3) << 30);
    CHECK(first.major == 8);
    CHECK(first.minor == 6);
    const auto uuid = got<CUuuid>(&Driver::cuDeviceGetUuid_v2, out, 1);
    CHECK(std::memcmp(&second.uuid, &uuid, sizeof uuid) == 0);
    CHECK(std::memcmp(&first.uuid, &uuid, sizeof uuid) != 0);
    CHECK(first.pciBusID != second.pciBusID);
}

// A member of cudaDeviceProp and the attribute that it equals.
#define SAME(field, which) Property(#field, prop.field, CU_DEVICE_ATTRIBUTE_##which)

TEST_CASE("device properties equal driver attributes") {
    start("attribute.88=1;attribute.18=1");
    const cudaDeviceProp prop = properties();
    CHECK((prop.pageableMemoryAccess == 1 && prop.integrated == 1));
    CHECK((prop.warpSize == 32 && prop.maxThreadsPerBlock == 1024));
    const Property all[] = {
#if CUDART_VERSION >= 13000
        SAME(deviceNumaConfig, NUMA_CONFIG),
        SAME(deviceNumaId, NUMA_ID),
        SAME(mpsEnabled, MPS_ENABLED),
        SAME(hostNumaId, HOST_NUMA_ID),
#else
        SAME(clockRate, CLOCK_RATE),
        SAME(memoryClockRate, MEMORY_CLOCK_RATE),
        SAME(computeMode, COMPUTE_MODE),
        SAME(kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT),
        SAME(singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
#endif
#if CUDART_VERSION >= 12000
        SAME(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
        SAME(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
        SAME(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
        SAME(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
        SAME(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
        SAME(ipcEventSupported, IPC_EVENT_SUPPORTED),
        SAME(clusterLaunch, CLUSTER_LAUNCH),
        SAME(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
#endif
        SAME(warpSize, WARP_SIZE),
        SAME(memPitch, MAX_PITCH),
        SAME(tccDriver, TCC_DRIVER),
        SAME(ECCEnabled, ECC_ENABLED),
        SAME(l2CacheSize, L2_CACHE_SIZE),
        SAME(pciDeviceID, PCI_DEVICE_ID),
        SAME(pciDomainID, PCI_DOMAIN_ID),
        SAME(managedMemory, MANAGED_MEMORY),
        SAME(maxGridSize[0], MAX_GRID_DIM_X),
        SAME(maxGridSize[1], MAX_GRID_DIM_Y),
        SAME(maxGridSize[2], MAX_GRID_DIM_Z),
        SAME(maxThreadsDim[0], MAX_BLOCK_DIM_X),
        SAME(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
        SAME(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
        SAME(textureAlignment, TEXTURE_ALIGNMENT),
        SAME(surfaceAlignment, SURFACE_ALIGNMENT),
        SAME(totalConstMem, TOTAL_CONSTANT_MEMORY),
        SAME(asyncEngineCount, ASYNC_ENGINE_COUNT),
        SAME(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
        SAME(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
        SAME(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH),
        SAME(canMapHostMemory, CAN_MAP_HOST_MEMORY),
        SAME(concurrentKernels, CONCURRENT_KERNELS),
        SAME(unifiedAddressing, UNIFIED_ADDRESSING),
        SAME(cooperativeLaunch, COOPERATIVE_LAUNCH),
        SAME(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
        SAME(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
        SAME(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH),
        SAME(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
        SAME(multiProcessorCount, MULTIPROCESSOR_COUNT),
        SAME(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
        SAME(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT),
        SAME(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
        SAME(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
        SAME(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH),
        SAME(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH),
        SAME(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
        SAME(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH),
        SAME(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH),
        SAME(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
        SAME(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
        SAME(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
        SAME(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
        SAME(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
        SAME(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
        SAME(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
        SAME(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
        SAME(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
        SAME(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
        SAME(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS),
        SAME(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS),
        SAME(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
        SAME(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
        SAME(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        SAME(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
        SAME(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
        SAME(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        SAME(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
        SAME(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS),
        SAME(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST)};
    for (const Property &each : all) {
        INFO(each.name);
        int value = 0; // stays 0 if the driver does not know the attribute
        (void)driver().cuDeviceGetAttribute(&value, each.attribute, 0);
        CHECK(each.value == value);
    }
}

TEST_CASE("settings of attributes apply to cudaDeviceGetAttribute") {
    start("attribute.16=77;attribute.17=unknown");
    int value = 0;
    CHECK(got(runtime().cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), value) ==
          77);
    CHECK(runtime().cudaDeviceGetAttribute(&value, cudaDevAttrKernelExecTimeout, 0) ==
          cudaErrorInvalidValue);
}

TEST_CASE("limits apply to the current context") {
    ok(runtime().cudaDeviceSetLimit(cudaLimitStackSize, 8192));
    std::size_t value = 0;
    CHECK(got(driver().cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), value) == 8192);
    CHECK(got(runtime().cudaDeviceGetLimit(&value, cudaLimitStackSize), value) == 8192);
    for (const int limit :
         {7, 99, -1}) { // the driver has a seventh limit and reports unknown ones differently
        CHECK(runtime().cudaDeviceGetLimit(&value, static_cast<cudaLimit>(limit)) ==
              cudaErrorInvalidValue);
        CHECK(runtime().cudaDeviceSetLimit(static_cast<cudaLimit>(limit), 1) ==
              cudaErrorInvalidValue);
    }
}

TEST_CASE("enabling peer access to an unreachable device fails") {
    start("devices=2;peers=none");
    CHECK(runtime().cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessUnsupported);
    CHECK(runtime().cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
}

TEST_CASE("driver entry points can be looked up through the runtime") {
    void *found = nullptr;
    const auto address_of = [](const char *name) {
        return reinterpret_cast<void *>(exported(name));
    };
#if CUDART_VERSION >= 12000
    cudaDriverEntryPointQueryResult result{};
    const auto find = [&](const char *name, unsigned long long flags = cudaEnableDefault) {
        result = cudaDriverEntryPointVersionNotSufficent;
        return runtime().cudaGetDriverEntryPoint(name, &found, flags, &result);
    };
    ok(find("cuDeviceGetCount"));
    CHECK(result == cudaDriverEntryPointSuccess);
    CHECK(found == address_of("cuDeviceGetCount"));
    ok(find("cuStreamQuery", cudaEnableLegacyStream));
    CHECK(found == address_of("cuStreamQuery"));
    ok(find("cuStreamQuery", cudaEnablePerThreadDefaultStream));
    CHECK(found == address_of("cuStreamQuery_ptsz"));
#else
    ok(runtime().cudaGetDriverEntryPoint("cuDeviceGetCount", &found, cudaEnableDefault));
    CHECK(found == address_of("cuDeviceGetCount"));
#endif
#if CUDART_VERSION >= 12050
    const auto find_of = [&](const char *name, unsigned int version) {
        return runtime().cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault,
                                                          &result);
    };
    ok(find_of("cuMemAlloc", 2000));
    CHECK(found == address_of("cuMemAlloc"));
    ok(find_of("cuMemAlloc", 12000));
    CHECK(found == address_of("cuMemAlloc_v2"));
#endif
}
