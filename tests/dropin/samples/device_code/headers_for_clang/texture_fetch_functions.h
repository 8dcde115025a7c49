/* clang's headers include this file, which CUDA 13 no longer has. */
