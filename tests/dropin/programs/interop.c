/* A program that shares a buffer with OpenGL. Calls one function of cuda.h and one of cudaGL.h,
 * which is declared here because that header needs OpenGL's. With RUNTIME: the runtime API instead.
 * With LIBRARY: the library that defines these functions; each returns a value of its own. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdio.h>

#ifdef RUNTIME
cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource,
                                         unsigned int buffer, unsigned int flags);
#else
CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned int buffer,
                                    unsigned int flags);
#endif

#if defined(LIBRARY) && defined(RUNTIME)
cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource,
                                         unsigned int buffer, unsigned int flags) {
    (void)resource;
    return (cudaError_t)(771 + buffer + flags);
}
#elif defined(LIBRARY)
CUresult cuInit(unsigned int flags) {
    return (CUresult)(771 + flags);
}

CUresult cuDriverGetVersion(int *version) {
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned int buffer,
                                    unsigned int flags) {
    (void)resource;
    return (CUresult)(771 + buffer + flags);
}
#elif defined(RUNTIME)
int main(void) {
    struct cudaGraphicsResource *resource = NULL;
    int count = -1;
    const int counted = (int)cudaGetDeviceCount(&count);
    const int shared = (int)cudaGraphicsGLRegisterBuffer(&resource, 1, 0);
    printf("cudaGetDeviceCount: %d, cudaGraphicsGLRegisterBuffer: %d\n", counted, shared);
    return 0;
}
#else
int main(void) {
    CUgraphicsResource resource = NULL;
    const int started = (int)cuInit(0), shared = (int)cuGraphicsGLRegisterBuffer(&resource, 1, 0);
    printf("cuInit: %d, cuGraphicsGLRegisterBuffer: %d\n", started, shared);
    return 0;
}
#endif
