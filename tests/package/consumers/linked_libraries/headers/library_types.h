/* The few lines of NVIDIA's header that the test needs: not every set of CUDA headers has it. */
#ifndef LIBRARY_TYPES_H
#define LIBRARY_TYPES_H

typedef enum libraryPropertyType_t {
    MAJOR_VERSION,
    MINOR_VERSION,
    PATCH_LEVEL
} libraryPropertyType;

#endif
