#include <cushim/unique_fd.hpp>

#include "platform.hpp"

namespace cushim {

Result<UniqueFd> UniqueFd::duplicate() const noexcept {
    CUSHIM_TRY(const int copy, detail::duplicate_descriptor(descriptor_));
    return UniqueFd(copy);
}

void UniqueFd::close(int descriptor) noexcept {
    detail::close_descriptor(descriptor);
}

} // namespace cushim
