#include "external_handles.hpp"

namespace cushim::detail {

Result<void> check_win32(Win32Handle handle, const char *otherwise) noexcept {
    CUSHIM_TRY_VOID(require_nt_handles(otherwise));
    if (handle.handle() == nullptr && handle.name() == nullptr) {
        return Error::invalid_argument("the Windows handle is null and has no name");
    }
    return {};
}

Result<void> check_fd(const UniqueFd &fd, const char *otherwise) noexcept {
    CUSHIM_TRY_VOID(require_descriptors(otherwise));
    if (!fd) {
        return Error::invalid_argument("the UniqueFd is empty");
    }
    return check_descriptor(fd.get());
}

Result<LentDescriptor> LentDescriptor::of(const UniqueFd &original,
                                          const char *otherwise) noexcept {
    CUSHIM_TRY_VOID(check_fd(original, otherwise));
    CUSHIM_TRY(const int lent, duplicate_to_lend(original.get()));
    return LentDescriptor(original.get(), lent);
}

LentDescriptor::LentDescriptor(LentDescriptor &&other) noexcept
    : original_(other.original_), lent_(other.lent_) {
    other.lent_ = -1;
}

LentDescriptor &LentDescriptor::operator=(LentDescriptor &&other) noexcept {
    const LentDescriptor old(original_, lent_);
    original_ = other.original_;
    lent_ = other.lent_;
    other.lent_ = -1;
    return *this;
}

LentDescriptor::~LentDescriptor() {
    if (lent_ >= 0 && is_same_open_file(original_, lent_)) {
        close_descriptor(lent_);
    }
}

} // namespace cushim::detail
