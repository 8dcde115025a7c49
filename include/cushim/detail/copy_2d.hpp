/* Copies and fills of rows and layers without their element type. */
#ifndef CUSHIM_DETAIL_COPY_2D_HPP
#define CUSHIM_DETAIL_COPY_2D_HPP

#include <cushim/detail/copy.hpp>
#include <cushim/detail/pitched_view.hpp>

namespace cushim::detail {

struct PitchedCopy {
    CopyKind kind;
    PitchedView to;
    PitchedView from;
    ElementType element;
};

CUSHIM_API Result<void> copy(const Context &context, const PitchedCopy &copy) noexcept;
CUSHIM_API Result<void> copy(const Stream &stream, const PitchedCopy &copy) noexcept;

// A value of one, two or four bytes.
struct PitchedFill {
    PitchedView to;
    ElementType element;
    unsigned int value;
};

CUSHIM_API Result<void> fill(const Context &context, const PitchedFill &fill) noexcept;
CUSHIM_API Result<void> fill(const Stream &stream, const PitchedFill &fill) noexcept;

} // namespace cushim::detail

#endif
