// The exception that Result::value() throws; the only one of cushim's own.
//
// Needed only by who catches it by its type. Programs without exceptions never see it.
#ifndef CUSHIM_EXCEPTION_HPP
#define CUSHIM_EXCEPTION_HPP

#include <exception>

#include <cushim/error.hpp>

namespace cushim {

// An Error that is thrown. Copying shares the Error's memory and never fails.
class CUSHIM_API Exception : public std::exception {
  public:
    explicit Exception(const Error &error) noexcept;
    Exception(const Exception &) noexcept;
    Exception &operator=(const Exception &) noexcept;
    ~Exception() override;

    // The Error's message; valid as long as this exception or a copy of its Error.
    const char *what() const noexcept override;

    const Error &error() const noexcept;

  private:
    Error error_;
};

} // namespace cushim

#endif
