#include <cushim/unique_fd.hpp>

#include "platform.hpp"

namespace cushim {

Result<UniqueFd> UniqueFd::duplicate() const noexcept {
    const Result<int> copy = detail::duplicate_descriptor(descriptor_);
    if (!copy) {
        return CUSHIM_NAMED(descriptor_ >= 0
                                ? copy.error()
                                : Error::invalid_argument("the UniqueFd holds no file descriptor"));
    }
    return UniqueFd(*copy);
}

void UniqueFd::close(int descriptor) noexcept {
    detail::close_descriptor(descriptor);
}

} // namespace cushim
