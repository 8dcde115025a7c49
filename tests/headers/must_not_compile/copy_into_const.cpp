// refused: no matching function for call to .*copy
#include <cushim/copy.hpp>

#ifdef MISUSE
using Element = const int;
#else
using Element = int;
#endif

bool use(const cushim::Stream &stream, cushim::DeviceSpan<Element> to,
         cushim::DeviceSpan<const int> from) {
    return cushim::copy(stream, to, from).has_value();
}
