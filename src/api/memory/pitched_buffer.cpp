#include <cushim/pitched_buffer.hpp>

#include "memory_state.hpp"

namespace cushim::detail {
namespace {

// The largest access that CUDA aligns rows for: 4, 8 or 16 bytes.
unsigned int access_size(std::size_t element_size) noexcept {
    return element_size % 16 == 0 ? 16 : element_size % 8 == 0 ? 8 : 4;
}

} // namespace

Result<PitchedMemory> PitchedMemory::allocate(const Context &context, const Extent &extent,
                                              std::size_t element_size) noexcept {
    return named("PitchedBuffer::allocate", [&]() -> Result<PitchedMemory> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(const std::size_t width_bytes, bytes_of(extent.width, element_size));
        if (product_overflows(extent.height, extent.depth) ||
            product_overflows(extent.height * extent.depth, width_bytes)) {
            return invalid_argument(
                "extent %zu x %zu x %zu of elements of %zu byte%s exceeds the address space",
                extent.width, extent.height, extent.depth, element_size, plural(element_size));
        }
        if (extent.empty()) {
            return PitchedMemory();
        }
        CUSHIM_TRY(auto state, make_state<DeviceMemoryState>(context));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        std::size_t row_pitch = 0;
        const std::size_t rows = extent.height * extent.depth;
        CUSHIM_TRY_VOID(allocating_call<entry::cuMemAllocPitch>(
            width_bytes * rows, available_here, &state->address, &row_pitch, width_bytes, rows,
            access_size(element_size)));
        return PitchedMemory({state->address, extent, row_pitch}, state.take());
    });
}

Result<void> PitchedMemory::release_after(const Stream &stream) const noexcept {
    return release_memory_after(*this, stream);
}

} // namespace cushim::detail
