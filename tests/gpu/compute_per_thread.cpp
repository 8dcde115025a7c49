#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include "compute.inc"

std::size_t wrong_sums_per_thread(unsigned int count) {
    return wrong_sums(count);
}
