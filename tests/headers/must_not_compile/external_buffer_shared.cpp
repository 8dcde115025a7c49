// refused: no member named 'share'|has no member named .share
#include <cushim/external_memory.hpp>

void use(cushim::ExternalBuffer &buffer) {
#ifdef MISUSE
    auto other = buffer.share();
#else
    auto other = static_cast<cushim::ExternalBuffer &&>(buffer);
#endif
    (void)other;
}
