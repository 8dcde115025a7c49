// refused: (constraint|DeviceType)
#include <cushim/growable_buffer.hpp>

#include <string>

#ifdef MISUSE
cushim::GrowableBuffer<std::string> buffer;
#else
cushim::GrowableBuffer<char> buffer;
#endif
