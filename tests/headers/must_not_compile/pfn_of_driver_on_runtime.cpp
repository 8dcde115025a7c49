// refused: an entry point of the driver API
#include <cushim/entry.hpp>

bool use() {
#ifdef MISUSE
    return cushim::runtime().pfn<cushim::entry::cuMemAlloc>().has_value();
#else
    return cushim::driver().pfn<cushim::entry::cuMemAlloc>().has_value();
#endif
}
