/* Checks of sizes, offsets and ranges. */
#ifndef CUSHIM_DETAIL_RANGES_HPP
#define CUSHIM_DETAIL_RANGES_HPP

#include <cstddef>

#include <cushim/driver_table.hpp>
#include <cushim/result.hpp>

namespace cushim::detail {

// The product; invalid_argument with the numbers if it exceeds std::size_t.
CUSHIM_API Result<std::size_t> bytes_of(std::size_t count, std::size_t element_size) noexcept;
// invalid_argument with the numbers if offset + count exceeds size.
CUSHIM_API Result<void> check_range(std::size_t offset, std::size_t count,
                                    std::size_t size) noexcept;
// invalid_argument with the numbers unless `bytes` is a multiple of the element size and the
// address is a multiple of the alignment.
CUSHIM_API Result<void> check_elements(CUdeviceptr address, std::size_t bytes,
                                       std::size_t element_size, std::size_t alignment) noexcept;

} // namespace cushim::detail

#endif
