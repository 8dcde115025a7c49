// Devices of the runtime: each property equals a driver attribute.
#include "handles.hpp"

using namespace sim_test;

namespace {

template <class T>
bool agrees(T field, CUdevice_attribute which) {
    int value = 0; // stays 0 if the driver does not know the attribute
    (void)d.cuDeviceGetAttribute(&value, which, 0);
    return field == static_cast<T>(value);
}

cudaDeviceProp properties(int device = 0) {
    cudaDeviceProp prop;
    std::memset(static_cast<void *>(&prop), 0xa5, sizeof prop);
    REQUIRE(r.cudaGetDeviceProperties(&prop, device) == cudaSuccess);
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
    cudaDeviceProp prop;
    check_all(cudaErrorInvalidDevice,
              {r.cudaGetDeviceProperties(&prop, 2), r.cudaGetDeviceProperties(&prop, -1)});
    CHECK(r.cudaGetDeviceProperties(nullptr, 0) == cudaErrorInvalidValue);
}

#define AGREES(field, which) CHECK(agrees(prop.field, CU_DEVICE_ATTRIBUTE_##which))

TEST_CASE("limits in the device properties equal driver attributes") {
    const cudaDeviceProp prop = properties();
    AGREES(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK);
    AGREES(regsPerBlock, MAX_REGISTERS_PER_BLOCK);
    AGREES(warpSize, WARP_SIZE);
    AGREES(memPitch, MAX_PITCH);
    AGREES(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
    AGREES(maxThreadsDim[0], MAX_BLOCK_DIM_X);
    AGREES(maxThreadsDim[1], MAX_BLOCK_DIM_Y);
    AGREES(maxThreadsDim[2], MAX_BLOCK_DIM_Z);
    AGREES(maxGridSize[0], MAX_GRID_DIM_X);
    AGREES(maxGridSize[1], MAX_GRID_DIM_Y);
    AGREES(maxGridSize[2], MAX_GRID_DIM_Z);
    AGREES(totalConstMem, TOTAL_CONSTANT_MEMORY);
    AGREES(multiProcessorCount, MULTIPROCESSOR_COUNT);
    AGREES(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR);
    AGREES(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR);
    AGREES(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    AGREES(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR);
    AGREES(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    AGREES(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK);
    AGREES(l2CacheSize, L2_CACHE_SIZE);
    AGREES(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE);
    AGREES(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE);
    AGREES(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH);
    CHECK(prop.warpSize == 32);
    CHECK(prop.maxThreadsPerBlock == 1024);
}

TEST_CASE("texture and surface limits in the device properties equal driver attributes") {
    const cudaDeviceProp prop = properties();
    AGREES(textureAlignment, TEXTURE_ALIGNMENT);
    AGREES(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT);
    AGREES(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH);
    AGREES(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH);
    AGREES(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT);
    AGREES(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH);
    AGREES(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH);
    AGREES(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT);
    AGREES(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH);
    AGREES(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE);
    AGREES(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH);
    AGREES(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS);
    AGREES(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS);
    AGREES(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS);
    AGREES(surfaceAlignment, SURFACE_ALIGNMENT);
    AGREES(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH);
    AGREES(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT);
    AGREES(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH);
    AGREES(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS);
    AGREES(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS);
    AGREES(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH);
    AGREES(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS);
}

TEST_CASE("capabilities in the device properties equal driver attributes") {
    start("attribute.88=1;attribute.18=1");
    const cudaDeviceProp prop = properties();
    CHECK(prop.pageableMemoryAccess == 1);
    CHECK(prop.integrated == 1);
    AGREES(canMapHostMemory, CAN_MAP_HOST_MEMORY);
    AGREES(concurrentKernels, CONCURRENT_KERNELS);
    AGREES(ECCEnabled, ECC_ENABLED);
    AGREES(pciDeviceID, PCI_DEVICE_ID);
    AGREES(pciDomainID, PCI_DOMAIN_ID);
    AGREES(tccDriver, TCC_DRIVER);
    AGREES(asyncEngineCount, ASYNC_ENGINE_COUNT);
    AGREES(unifiedAddressing, UNIFIED_ADDRESSING);
    AGREES(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED);
    AGREES(managedMemory, MANAGED_MEMORY);
    AGREES(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED);
    AGREES(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS);
    AGREES(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED);
    AGREES(cooperativeLaunch, COOPERATIVE_LAUNCH);
    AGREES(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
#if CUDART_VERSION >= 12000
    AGREES(hostRegisterSupported, HOST_REGISTER_SUPPORTED);
    AGREES(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED);
    AGREES(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED);
    AGREES(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED);
    AGREES(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES);
    AGREES(ipcEventSupported, IPC_EVENT_SUPPORTED);
    AGREES(clusterLaunch, CLUSTER_LAUNCH);
    AGREES(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS);
#endif
#if CUDART_VERSION >= 13000
    AGREES(deviceNumaConfig, NUMA_CONFIG);
    AGREES(deviceNumaId, NUMA_ID);
    AGREES(mpsEnabled, MPS_ENABLED);
    AGREES(hostNumaId, HOST_NUMA_ID);
#else
    AGREES(clockRate, CLOCK_RATE);
    AGREES(memoryClockRate, MEMORY_CLOCK_RATE);
    AGREES(computeMode, COMPUTE_MODE);
    AGREES(kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT);
    AGREES(singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
#endif
}

TEST_CASE("cudaDeviceGetAttribute returns driver attributes and rejects unknown ones") {
    start("attribute.16=77;attribute.17=unknown");
    int value = 0;
    CHECK(got(r.cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), value) == 77);
    CHECK(r.cudaDeviceGetAttribute(&value, cudaDevAttrKernelExecTimeout, 0) ==
          cudaErrorInvalidValue);
    CHECK(r.cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0) ==
          cudaErrorInvalidValue);
    CHECK(r.cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1) == cudaErrorInvalidDevice);
    CHECK(r.cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0) == cudaErrorInvalidValue);
}

TEST_CASE("a PCI address finds its device") {
    start("devices=2");
    char text[32] = {};
    int device = -1;
    CHECK(r.cudaDeviceGetPCIBusId(text, sizeof text, 1) == cudaSuccess);
    CHECK(got(r.cudaDeviceGetByPCIBusId(&device, text), device) == 1);
    CHECK(r.cudaDeviceGetPCIBusId(text, sizeof text, 2) == cudaErrorInvalidDevice);
    CHECK(r.cudaDeviceGetByPCIBusId(&device, nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("limits and cache settings apply to the current context") {
    CHECK(r.cudaDeviceSetLimit(cudaLimitStackSize, 8192) == cudaSuccess);
    std::size_t value = 0;
    CHECK(got(d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), value) == 8192);
    CHECK(got(r.cudaDeviceGetLimit(&value, cudaLimitStackSize), value) == 8192);
    for (const int limit :
         {7, 99, -1}) { // the driver has a seventh limit and reports unknown ones differently
        CHECK(r.cudaDeviceGetLimit(&value, static_cast<cudaLimit>(limit)) == cudaErrorInvalidValue);
        CHECK(r.cudaDeviceSetLimit(static_cast<cudaLimit>(limit), 1) == cudaErrorInvalidValue);
    }
    CHECK(r.cudaDeviceSetCacheConfig(cudaFuncCachePreferL1) == cudaSuccess);
    CHECK(got<cudaFuncCache>(&Runtime::cudaDeviceGetCacheConfig, out) == cudaFuncCachePreferL1);
    int greatest = 1;
    CHECK(got<int>(&Runtime::cudaDeviceGetStreamPriorityRange, out, &greatest) == 0);
    CHECK(greatest < 0);
}

TEST_CASE("peer access can be enabled and disabled once") {
    start("devices=2");
    const auto can_access = [](int from, int to) {
        return got<int>(&Runtime::cudaDeviceCanAccessPeer, out, from, to);
    };
    int can = 0;
    CHECK(can_access(0, 1) == 1);
    CHECK(can_access(0, 0) == 0);
    CHECK(r.cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
    CHECK(r.cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
    CHECK(r.cudaDeviceEnablePeerAccess(1, 1) == cudaErrorInvalidValue);
    check_all(cudaErrorInvalidDevice,
              {r.cudaDeviceEnablePeerAccess(7, 0), r.cudaDeviceEnablePeerAccess(7, 1),
               r.cudaDeviceCanAccessPeer(&can, 0, 2)});
    CHECK(r.cudaDeviceDisablePeerAccess(1) == cudaSuccess);
    check_all(cudaErrorPeerAccessNotEnabled,
              {r.cudaDeviceDisablePeerAccess(1), r.cudaDeviceDisablePeerAccess(0)});
    CHECK(r.cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported);
    CHECK(got<int>(&Runtime::cudaDeviceGetP2PAttribute, out, cudaDevP2PAttrAccessSupported, 0, 1) ==
          1);
}

TEST_CASE("enabling peer access to an unreachable device fails") {
    start("devices=2;peers=none");
    CHECK(r.cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessUnsupported);
    CHECK(r.cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
    CHECK(r.cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported);
}

TEST_CASE("cudaChooseDevice returns a device") {
    start("devices=2");
    cudaDeviceProp wish;
    std::memset(static_cast<void *>(&wish), 0, sizeof wish);
    int device = -1;
    CHECK(got(r.cudaChooseDevice(&device, &wish), device) == 0);
    CHECK(r.cudaChooseDevice(nullptr, &wish) == cudaErrorInvalidValue);
    CHECK(r.cudaChooseDevice(&device, nullptr) == cudaErrorInvalidValue);
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
        return r.cudaGetDriverEntryPoint(name, &found, flags, &result);
    };
    CHECK(find("cuDeviceGetCount") == cudaSuccess);
    CHECK(result == cudaDriverEntryPointSuccess);
    CHECK(found == address_of("cuDeviceGetCount"));
    (void)find("cuNoSuchThing");
    CHECK(result == cudaDriverEntryPointSymbolNotFound);
    CHECK(found == nullptr);
    CHECK(find("cuStreamQuery", cudaEnableLegacyStream) == cudaSuccess);
    CHECK(found == address_of("cuStreamQuery"));
    CHECK(find("cuStreamQuery", cudaEnablePerThreadDefaultStream) == cudaSuccess);
    CHECK(found == address_of("cuStreamQuery_ptsz"));
#else
    CHECK(r.cudaGetDriverEntryPoint("cuDeviceGetCount", &found, cudaEnableDefault) == cudaSuccess);
    CHECK(found == address_of("cuDeviceGetCount"));
#endif
#if CUDART_VERSION >= 12050
    const auto find_of = [&](const char *name, unsigned int version) {
        return r.cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault,
                                                  &result);
    };
    CHECK(find_of("cuMemAlloc", 2000) == cudaSuccess);
    CHECK(found == address_of("cuMemAlloc"));
    CHECK(find_of("cuMemAlloc", 12000) == cudaSuccess);
    CHECK(found == address_of("cuMemAlloc_v2"));
    (void)find_of("cuGreenCtxCreate", 11000);
    CHECK(result == cudaDriverEntryPointVersionNotSufficent);
    CHECK(found == nullptr);
#endif
}
