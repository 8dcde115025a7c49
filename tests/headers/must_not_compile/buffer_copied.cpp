// refused: (use of|call to) deleted (function|constructor)|implicitly-deleted
#include <cushim/host_mapped_buffer.hpp>

#include <utility>

void use(cushim::HostMappedBuffer<int> &buffer) {
#ifdef MISUSE
    cushim::HostMappedBuffer<int> other = buffer;
#else
    cushim::HostMappedBuffer<int> other = std::move(buffer);
#endif
}
