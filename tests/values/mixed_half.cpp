// The mixed program's half that is built with exceptions and RTTI; with WITHOUT_EXCEPTIONS the
// other.
#include "mixed.hpp"

#ifdef WITHOUT_EXCEPTIONS
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(__GXX_RTTI)
#error "this is to be built without exceptions and RTTI"
#endif
#define VALUE value_without_exceptions
#else
#define VALUE value_with_exceptions
#endif

int mixed::VALUE(const cushim::Result<int> &result) {
    return result.value();
}
void mixed::VALUE(const cushim::Result<void> &result) {
    result.value();
}
