// refused: constraint|DeviceType
#include <cushim/host_mapped_buffer.hpp>

#include <string>

#ifdef MISUSE
using Element = std::string;
#else
using Element = char;
#endif

bool use(const cushim::Context &context) {
    return cushim::HostMappedBuffer<Element>::allocate(context, 1).has_value();
}
