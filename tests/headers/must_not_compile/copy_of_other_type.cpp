// refused: no matching function for call to .*copy
#include <cushim/copy.hpp>

#ifdef MISUSE
using Element = float;
#else
using Element = int;
#endif

bool use(const cushim::Stream &stream, cushim::DeviceSpan<int> to, std::span<const Element> from) {
    return cushim::copy(stream, to, from).has_value();
}
