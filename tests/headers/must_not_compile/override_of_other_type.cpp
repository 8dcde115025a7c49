// refused: invalid conversion from|no matching (function|constructor) for .*ScopedOverride
#include <cushim/override.hpp>

#ifdef MISUSE
CUresult replacement(int) {
    return CUDA_SUCCESS;
}
#else
CUresult replacement(unsigned int) {
    return CUDA_SUCCESS;
}
#endif

void use() {
    cushim::ScopedOverride<cushim::entry::cuInit> init(replacement);
}
