#include <cushim/graph_memory.hpp>

#include <cushim/stream.hpp>

#include "base/call.hpp"
#include "base/explained.hpp"
#include "context/in_context.hpp"

namespace cushim {

using namespace detail;

namespace {

Result<std::size_t> attribute(Device device, CUgraphMem_attribute which) noexcept {
    cuuint64_t value = 0;
    CUSHIM_TRY_VOID(call<entry::cuDeviceGetGraphMemAttribute>(device.native(), which, &value));
    return static_cast<std::size_t>(value);
}

Result<void> reset(Device device, CUgraphMem_attribute which) noexcept {
    cuuint64_t value = 0;
    return call<entry::cuDeviceSetGraphMemAttribute>(device.native(), which, &value);
}

} // namespace

Result<void> detail::GraphMemory::free_in(const Stream &stream) const noexcept {
    return named("GraphAllocation::free_in", [&]() noexcept -> Result<void> {
        CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
        if (address_ == 0) {
            return Error::invalid_argument("the GraphAllocation is empty");
        }
        return explained(call<entry::cuMemFreeAsync>(address_, stream.native()),
                         CUDA_ERROR_INVALID_VALUE,
                         "the memory is not allocated; launch the graph first, and free the memory "
                         "once after each launch");
    });
}

Result<GraphMemoryUsage> graph_memory_usage(Device device) noexcept {
    return named("graph_memory_usage", [&]() noexcept -> Result<GraphMemoryUsage> {
        GraphMemoryUsage usage;
        CUSHIM_TRY(usage.used, attribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT));
        CUSHIM_TRY(usage.used_high, attribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH));
        CUSHIM_TRY(usage.reserved, attribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT));
        CUSHIM_TRY(usage.reserved_high, attribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH));
        return usage;
    });
}

Result<void> reset_graph_memory_high_marks(Device device) noexcept {
    return named("reset_graph_memory_high_marks", [&]() noexcept -> Result<void> {
        CUSHIM_TRY_VOID(reset(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH));
        return reset(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
    });
}

Result<void> trim_graph_memory(Device device) noexcept {
    return named("trim_graph_memory", call<entry::cuDeviceGraphMemTrim>(device.native()));
}

} // namespace cushim
