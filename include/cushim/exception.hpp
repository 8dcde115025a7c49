// The exception that Result::value() throws; the only exception type of cushim.
//
// Only code that catches it by type needs this header. Programs without exceptions do not use it.
#ifndef CUSHIM_EXCEPTION_HPP
#define CUSHIM_EXCEPTION_HPP

#include <exception>

#include <cushim/error.hpp>

namespace cushim {

#ifdef _MSC_VER
#pragma warning(push)
// Its base and its member are not exported as classes; their functions are.
#pragma warning(disable : 4251 4275)
#endif

// A thrown Error. Copying shares the Error's memory and never fails.
class CUSHIM_API Exception : public std::exception {
  public:
    // Shares the memory of the Error.
    explicit Exception(const Error &error) noexcept;
    Exception(const Exception &) noexcept;
    Exception &operator=(const Exception &) noexcept;
    ~Exception() override;

    // The Error's message; valid as long as this exception or a copy of its Error.
    const char *what() const noexcept override;

    // The thrown Error; valid as long as this exception.
    const Error &error() const noexcept;

  private:
    Error error_;
};

#ifdef _MSC_VER
#pragma warning(pop)
#endif

} // namespace cushim

#endif
