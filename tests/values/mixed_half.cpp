// One half of the mixed program: with exceptions and RTTI, or without if WITHOUT_EXCEPTIONS is set.
#include "mixed.hpp"

#ifdef WITHOUT_EXCEPTIONS
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(__GXX_RTTI)
#error "this file must be built without exceptions and RTTI"
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
