// refused: an entry point of the runtime API
#include <cushim/entry.hpp>

bool use() {
#ifdef MISUSE
    return cushim::driver().pfn<cushim::entry::cudaMalloc>().has_value();
#else
    return cushim::runtime().pfn<cushim::entry::cudaMalloc>().has_value();
#endif
}
