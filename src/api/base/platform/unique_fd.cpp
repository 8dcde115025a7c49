#include <cushim/unique_fd.hpp>

#include "platform.hpp"

namespace cushim {

using namespace detail;

Result<UniqueFd> UniqueFd::duplicate() const noexcept {
    return named("UniqueFd::duplicate", [&]() -> Result<UniqueFd> {
        if (descriptor_ < 0) {
            return Error::invalid_argument("the UniqueFd is empty");
        }
        CUSHIM_TRY(const int copy, duplicate_descriptor(descriptor_));
        return UniqueFd(copy);
    });
}

void UniqueFd::close(int descriptor) noexcept {
    close_descriptor(descriptor);
}

} // namespace cushim
