/* An ordinary CUDA program that knows nothing of cushim: driver and runtime API by their own names,
 * with the usual checks. Prints the statuses. Its exit code without a device is 3. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <string.h>

enum { SIZE = 4096, NO_DEVICE = 3 };

static int same_after_driver_copy(void) {
    unsigned char from[SIZE], to[SIZE] = {0};
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    memset(from, 0x5a, sizeof from);
    if (cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cuMemAlloc(&memory, SIZE)) {
        return 0;
    }
    const CUresult copied = cuMemcpyHtoD(memory, from, SIZE);
    const CUresult back = cuMemcpyDtoH(to, memory, SIZE);
    const CUresult freed = cuMemFree(memory);
    const CUresult left = cuCtxSetCurrent(NULL);
    const CUresult released = cuDevicePrimaryCtxRelease(device);
    return !left && !copied && !back && !freed && !released && memcmp(from, to, SIZE) == 0;
}

static int same_after_runtime_fill(void) {
    unsigned char expected[SIZE], to[SIZE] = {0};
    void *memory;
    memset(expected, 0x33, sizeof expected);
    if (cudaMalloc(&memory, SIZE)) {
        return 0;
    }
    const cudaError_t filled = cudaMemset(memory, 0x33, SIZE);
    const cudaError_t back = cudaMemcpy(to, memory, SIZE, cudaMemcpyDeviceToHost);
    const cudaError_t freed = cudaFree(memory);
    return !filled && !back && !freed && memcmp(expected, to, SIZE) == 0;
}

/* The reason, without the path or variable that it names. */
static const char *cut(const char *words) {
    return strstr(words, "no CUDA driver") != NULL ? "no CUDA driver" : words;
}

int main(void) {
    int count = 77, version = 77;
    const char *name = NULL, *words = NULL;
    const CUresult started = cuInit(0);
    cuGetErrorName(started, &name);
    cuGetErrorString(started, &words);
    printf("cuInit: %d %s, %s\n", (int)started, name, cut(words));

    const cudaError_t counted = cudaGetDeviceCount(&count);
    printf("cudaGetDeviceCount: %d %s, %d devices\n", (int)counted, cudaGetErrorName(counted),
           count);
    const cudaError_t status = cudaDriverGetVersion(&version);
    printf("cudaDriverGetVersion: %d, version %s\n", (int)status, version == 0 ? "0" : "known");
    const cudaError_t peeked = cudaPeekAtLastError(), taken = cudaGetLastError();
    printf("last error: %d %d %d\n", (int)peeked, (int)taken, (int)cudaGetLastError());
    if (counted != cudaSuccess || count == 0) {
        printf("no device: %s\n", cut(cudaGetErrorString(counted)));
        return NO_DEVICE;
    }
    printf("driver: %s\n", same_after_driver_copy() ? "same" : "different");
    printf("runtime: %s\n", same_after_runtime_fill() ? "same" : "different");
    return 0;
}
