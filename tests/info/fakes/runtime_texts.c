/* A program with the texts by which a static libcudart is recognized, but without libcudart. */
#include <string.h>

static const char *const texts[] = {"cudaD3D9UnmapVertexBuffer", DRIVER};

int main(int count, char **arguments) {
    return strcmp(texts[count % 2], arguments[0]) == 0;
}
