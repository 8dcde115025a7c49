// refused: (use of|call to) deleted (function|constructor)
#include <cushim/override.hpp>

CUresult replacement(unsigned int) {
    return CUDA_SUCCESS;
}

void use() {
    cushim::ScopedOverride<cushim::entry::cuInit> init(replacement);
#ifdef MISUSE
    auto copy = init;
#endif
}
