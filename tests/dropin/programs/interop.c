/* A program that shares a buffer with OpenGL: one function of cuda.h, one of cudaGL.h, which is
 * declared here as there since that header wants OpenGL's own. */
#include <cuda.h>

#include <stdio.h>

extern CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned int buffer,
                                           unsigned int flags);

int main(void) {
    CUgraphicsResource resource = NULL;
    const int started = (int)cuInit(0), shared = (int)cuGraphicsGLRegisterBuffer(&resource, 1, 0);
    printf("cuInit: %d, cuGraphicsGLRegisterBuffer: %d\n", started, shared);
    return 0;
}
