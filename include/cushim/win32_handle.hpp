/* Identifies a shared Windows object for another API: by a handle or by a name, never both. */
#ifndef CUSHIM_WIN32_HANDLE_HPP
#define CUSHIM_WIN32_HANDLE_HPP

#include <cushim/detail/cpp20.hpp>

namespace cushim {

/* A plain value that owns nothing. The type exists on every platform, so programs need no #ifdef;
 * except on Windows, functions that use it fail with unsupported_platform. */
class Win32Handle {
  public:
    // A shared NT handle, for example from CreateSharedHandle. CUDA takes its own reference: the
    // caller must close the handle, whether the import succeeds or not.
    static constexpr Win32Handle handle(void *handle) noexcept { return {handle, nullptr}; }

    // The name that the object was created with, null-terminated. The text is not copied: it must
    // live until the import.
    static constexpr Win32Handle named(const wchar_t *name) noexcept { return {nullptr, name}; }

    // The handle and the name; one of them is null.
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
