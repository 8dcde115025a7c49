/* A libcuda.so.1 that has a function of cudaGL.h, too. Each answers what nothing else does. */
#include <cuda.h>

CUresult cuInit(unsigned int flags) {
    return (CUresult)(771 + flags);
}

CUresult cuDriverGetVersion(int *version) {
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned int buffer,
                                    unsigned int flags);

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned int buffer,
                                    unsigned int flags) {
    (void)resource;
    return (CUresult)(771 + buffer + flags);
}
