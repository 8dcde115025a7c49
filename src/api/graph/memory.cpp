#include <cushim/graph_memory.hpp>

#include <cushim/stream.hpp>

#include "api.hpp"
#include "base/call.hpp"
#include "context/in_context.hpp"

namespace cushim {
namespace {

Result<std::size_t> attribute(Device device, CUgraphMem_attribute which) noexcept {
    cuuint64_t value = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetGraphMemAttribute, device.native(), which, &value));
    return static_cast<std::size_t>(value);
}

Result<void> reset(Device device, CUgraphMem_attribute which) noexcept {
    cuuint64_t value = 0;
    return CUSHIM_DRIVER(cuDeviceSetGraphMemAttribute, device.native(), which, &value);
}

} // namespace

Result<void> detail::GraphMemory::free(const Stream &stream) const noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    if (address_ == 0) {
        return CUSHIM_NAMED(Error::invalid_argument("the GraphAllocation holds no memory"));
    }
    Result<void> freed = CUSHIM_DRIVER(cuMemFreeAsync, address_, stream.native());
    if (!freed) [[unlikely]] {
        return CUSHIM_NAMED(explained(std::move(freed), CUDA_ERROR_INVALID_VALUE,
                                      "the memory is not allocated; launch the graph first, and "
                                      "free the memory once after each launch"));
    }
    return freed;
}

Result<GraphMemoryUsage> graph_memory_usage(Device device) noexcept {
    GraphMemoryUsage usage;
    CUSHIM_TRY(usage.used, attribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT));
    CUSHIM_TRY(usage.used_high, attribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH));
    CUSHIM_TRY(usage.reserved, attribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT));
    CUSHIM_TRY(usage.reserved_high, attribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH));
    return usage;
}

Result<void> reset_graph_memory_high_marks(Device device) noexcept {
    CUSHIM_TRY_VOID(reset(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH));
    return CUSHIM_NAMED(reset(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH));
}

Result<void> trim_graph_memory(Device device) noexcept {
    return CUSHIM_DRIVER(cuDeviceGraphMemTrim, device.native());
}

} // namespace cushim
