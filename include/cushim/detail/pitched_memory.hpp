/* The base of PitchedBuffer. */
#ifndef CUSHIM_DETAIL_PITCHED_MEMORY_HPP
#define CUSHIM_DETAIL_PITCHED_MEMORY_HPP

#include <cushim/detail/driver_headers.h>
#include <cushim/extent.hpp>
#include <cushim/handle.hpp>

namespace cushim {

class Context;
class Stream;

namespace detail {

// A buffer without its element type.
struct PitchedBlock {
    CUdeviceptr native = 0;
    Extent extent{0, 0, 0};
    std::size_t row_pitch = 0; // bytes
};

class PitchedMemory : public Owner<PitchedBlock> {
  public:
    PitchedMemory() noexcept = default;

    const Extent &extent() const noexcept { return value().extent; }
    bool empty() const noexcept { return extent().empty(); }
    Pitch pitch() const noexcept { return {value().row_pitch, extent().height}; }
    std::size_t size_bytes() const noexcept {
        return value().row_pitch * extent().height * extent().depth;
    }

    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  protected:
    CUSHIM_API static Result<PitchedMemory>
    allocate_rows(const Context &context, const Extent &extent, std::size_t element_size) noexcept;

  private:
    using Owner::Owner;
};

} // namespace detail
} // namespace cushim

#endif
