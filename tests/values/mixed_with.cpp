// The half of the mixed program that is built with exceptions.
#include "mixed.hpp"

namespace mixed {

int value_with_exceptions(const cushim::Result<int> &result) {
    return result.value();
}
void value_with_exceptions(const cushim::Result<void> &result) {
    result.value();
}

} // namespace mixed
