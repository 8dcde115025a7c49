/* A libcudart that has a function of cuda_gl_interop.h, which answers what nothing else does. */
#include <cuda_runtime_api.h>

cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource,
                                         unsigned int buffer, unsigned int flags);

cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource,
                                         unsigned int buffer, unsigned int flags) {
    (void)resource;
    return (cudaError_t)(771 + buffer + flags);
}
