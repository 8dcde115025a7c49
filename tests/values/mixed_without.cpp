// The half of the mixed program that is built without exceptions and RTTI.
#include "mixed.hpp"

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(__GXX_RTTI)
#error "this is to be built without exceptions and RTTI"
#endif

namespace mixed {

cushim::Result<int> make(bool succeed) {
    if (succeed) {
        return 1;
    }
    return cushim::Error::invalid_argument("mixed");
}

int value_without_exceptions(const cushim::Result<int> &result) {
    return result.value();
}
void value_without_exceptions(const cushim::Result<void> &result) {
    result.value();
}

} // namespace mixed
