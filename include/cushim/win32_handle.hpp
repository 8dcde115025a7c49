/* What names a shared object of Windows to another API: a handle, or a name, and never both. */
#ifndef CUSHIM_WIN32_HANDLE_HPP
#define CUSHIM_WIN32_HANDLE_HPP

#include <cushim/config.h>

namespace cushim {

/* A plain value that owns nothing. It exists everywhere, so that programs need no #ifdef; elsewhere than on
 * Windows, what would use it answers unsupported_platform. */
class Win32Handle {
  public:
    // A shared NT handle (a HANDLE, as CreateSharedHandle gives it). CUDA takes its own reference: the
    // caller closes the handle, whatever comes of the import.
    static constexpr Win32Handle handle(void *handle) noexcept { return {handle, nullptr}; }

    // The name that the object was created with, in Windows' own wide characters, ended by zero. The
    // text is not copied: it must live until the import.
    static constexpr Win32Handle named(const wchar_t *name) noexcept { return {nullptr, name}; }

    // One of both is null.
    constexpr void *handle() const noexcept { return handle_; }
    constexpr const wchar_t *name() const noexcept { return name_; }

  private:
    constexpr Win32Handle(void *handle, const wchar_t *name) noexcept
        : handle_(handle), name_(name) {}

    void *handle_;
    const wchar_t *name_;
};

} // namespace cushim

#endif
