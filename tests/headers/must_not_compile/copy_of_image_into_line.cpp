// refused: no matching function for call to .*copy
#include <cushim/copy_2d.hpp>

bool use(const cushim::Stream &stream, cushim::DeviceSpan<int> line,
         const cushim::DevicePitchedSpan<int> &image, const cushim::HostPitchedSpan<int> &pixels) {
#ifdef MISUSE
    return cushim::copy(stream, line, pixels).has_value();
#else
    (void)line;
    return cushim::copy(stream, image, pixels).has_value();
#endif
}
