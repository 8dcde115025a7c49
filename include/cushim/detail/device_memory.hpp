/* The owner in a DeviceBuffer. */
#ifndef CUSHIM_DETAIL_DEVICE_MEMORY_HPP
#define CUSHIM_DETAIL_DEVICE_MEMORY_HPP

#include <cstddef>

#include <cushim/detail/driver_headers.h>
#include <cushim/handle.hpp>

namespace cushim {

class Context;
class Stream;

namespace detail {

// A buffer without its element type; `size` is in bytes.
struct Memory {
    CUdeviceptr native = 0;
    std::size_t size = 0;
    bool zero_length = false; // allocated with no elements: valid, unlike an empty owner
};

class DeviceMemory : public Owner<Memory> {
  public:
    DeviceMemory() noexcept = default;
    CUSHIM_API static Result<DeviceMemory> allocate(const Context &context,
                                                    std::size_t bytes) noexcept;
    CUSHIM_API static Result<DeviceMemory> allocate_async(const Stream &stream,
                                                          std::size_t bytes) noexcept;
    CUSHIM_API static Result<DeviceMemory> adopt(const Context &context, CUdeviceptr address,
                                                 std::size_t bytes) noexcept;
    CUSHIM_API Result<void> free_async(const Stream &stream) noexcept;
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;
    std::size_t size() const noexcept { return value().size; }

  private:
    using Owner::Owner;
};

} // namespace detail
} // namespace cushim

#endif
