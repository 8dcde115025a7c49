// refused: nodiscard
#include <cushim/init.hpp>

void use() {
#ifdef MISUSE
    cushim::init();
#else
    (void)cushim::init();
#endif
}
