/* A function-local static that is tested for null: the usual hand-written loader. */
#include "call_loop.hpp"

static CUresult call(unsigned int flags) {
    static const auto function = reinterpret_cast<Function>(dlsym(open_library(), "cuInit"));
    if (function == nullptr)
        return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
    return function(flags);
}
