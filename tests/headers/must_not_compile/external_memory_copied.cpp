// refused: (use of|call to) (implicitly-)?deleted (function|.*constructor)
#include <cushim/external_memory.hpp>

void use(const cushim::ExternalMemory &memory) {
#ifdef MISUSE
    auto copy = memory;
#else
    auto copy = memory.share();
#endif
    (void)copy;
}
