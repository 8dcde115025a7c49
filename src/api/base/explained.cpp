#include "explained.hpp"

#include <cstdarg>
#include <cstdio>

namespace cushim::detail {
namespace {

bool has_better_text(const Error &error) noexcept {
    switch (error.kind()) {
    case ErrorKind::library_not_found:
    case ErrorKind::stub_library:
    case ErrorKind::symbol_not_found:
    case ErrorKind::requires_newer_driver:
    case ErrorKind::requires_newer_headers:
        return true;
    default:
        return error.api() == Api::loader;
    }
}

Error reword(const Error &error, const char *format, std::va_list arguments) noexcept {
    char text[400];
    std::vsnprintf(text, sizeof text, format, arguments);
    return with_detail(Error(error), text);
}

Error explain(const Error &error, const char *format, std::va_list arguments) noexcept {
    return has_better_text(error) ? error : reword(error, format, arguments);
}

} // namespace

Error explained(const Error &error, const char *format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    Error made = explain(error, format, arguments);
    va_end(arguments);
    return made;
}

Error reworded(const Error &error, const char *format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    Error made = reword(error, format, arguments);
    va_end(arguments);
    return made;
}

Result<void> explained(Result<void> &&called, int status, const char *format, ...) noexcept {
    if (called || called.error().status() != status) [[likely]] {
        return static_cast<Result<void> &&>(called);
    }
    std::va_list arguments;
    va_start(arguments, format);
    Error made = explain(called.error(), format, arguments);
    va_end(arguments);
    return made;
}

} // namespace cushim::detail
