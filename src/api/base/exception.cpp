// Separate from error.cpp, so that only programs that can throw link the code for exceptions.
#include <cushim/exception.hpp>

namespace cushim {

Exception::Exception(const Error &error) noexcept : error_(error) {}
Exception::Exception(const Exception &) noexcept = default;
Exception &Exception::operator=(const Exception &) noexcept = default;
Exception::~Exception() = default;

const char *Exception::what() const noexcept {
    return error_.message();
}
const Error &Exception::error() const noexcept {
    return error_;
}

namespace detail {

void throw_exception(const Error &error) {
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
    throw Exception(error);
#else
    abort_with(&error, "value()");
#endif
}

} // namespace detail
} // namespace cushim
