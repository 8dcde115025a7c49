// One half of the mixed program: with exceptions, RTTI and NDEBUG, or without if WITHOUT_EXCEPTIONS
// is set.
#undef NDEBUG
#ifndef WITHOUT_EXCEPTIONS
#define NDEBUG
#endif
#include "mixed.hpp"

#ifdef WITHOUT_EXCEPTIONS
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(__GXX_RTTI)
#error "this file must be built without exceptions and RTTI"
#endif
#define VALUE value_without_exceptions
#define ACCESS access_without_exceptions
#else
#define VALUE value_with_exceptions
#define ACCESS access_with_exceptions
#endif

int mixed::VALUE(const cushim::Result<int> &result) {
    return result.value();
}
void mixed::VALUE(const cushim::Result<void> &result) {
    result.value();
}
int mixed::ACCESS(const cushim::Result<int> &result) {
    return *result;
}
