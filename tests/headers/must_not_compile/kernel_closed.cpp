// refused: deleted
#include <cushim/kernel.hpp>

// The code is the module's to close.
void use(cushim::Kernel<void()> &kernel) {
#ifdef MISUSE
    (void)kernel.close();
#else
    kernel.reset();
#endif
}
