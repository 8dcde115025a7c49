/* A program that shares a buffer with OpenGL by the runtime API: one function of
 * cuda_runtime_api.h, one of cuda_gl_interop.h, which is declared here as there since that header
 * wants OpenGL's own. */
#include <cuda_runtime_api.h>

#include <stdio.h>

extern cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource,
                                                unsigned int buffer, unsigned int flags);

int main(void) {
    struct cudaGraphicsResource *resource = NULL;
    int count = -1;
    const int counted = (int)cudaGetDeviceCount(&count);
    const int shared = (int)cudaGraphicsGLRegisterBuffer(&resource, 1, 0);
    printf("cudaGetDeviceCount: %d, cudaGraphicsGLRegisterBuffer: %d\n", counted, shared);
    return 0;
}
