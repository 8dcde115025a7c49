/* An ordinary program of the runtime API. Without arguments it makes no call. */
#include <cuda_runtime_api.h>
#include <stdio.h>

static int use_device(void) {
    int count = 0;
    void *memory = NULL;
    char bytes[64] = {0};
    cudaStream_t stream = NULL;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess) {
        status = cudaStreamCreate(&stream);
    }
    if (status == cudaSuccess) {
        status = cudaMalloc(&memory, sizeof bytes);
    }
    if (status == cudaSuccess) {
        status = cudaMemcpyAsync(memory, bytes, sizeof bytes, cudaMemcpyHostToDevice, stream);
    }
    if (status == cudaSuccess) {
        status = cudaStreamSynchronize(stream);
    }
    if (status == cudaSuccess) {
        status = cudaFree(memory);
    }
    if (status != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(status));
    }
    return status != cudaSuccess;
}

int main(int argc, char **argv) {
    (void)argv;
    return argc < 2 ? 0 : use_device();
}
