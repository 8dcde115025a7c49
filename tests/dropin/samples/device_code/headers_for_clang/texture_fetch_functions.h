/* CUDA 13 has no such header any more, and clang's own ones still include it. */
