// Copies.
#include "graph/kind.hpp"
#include "graph/reading.hpp"
#include "memory/pitched_copy.hpp"

namespace cushim {
namespace detail {
namespace {

// Without arrays, all widths are in bytes.
cudaPitchedPtr native_view(const PitchedView &view, std::size_t width) noexcept {
    return {native_pointer<Api::runtime>(view.address), view.pitch.row, width, view.pitch.layer};
}

cudaMemcpyKind native_kind(CopyKind kind) noexcept {
    switch (kind) {
    case CopyKind::host_to_device:
        return cudaMemcpyHostToDevice;
    case CopyKind::device_to_host:
        return cudaMemcpyDeviceToHost;
    case CopyKind::device_to_device:
        break;
    }
    return cudaMemcpyDefault; // on any devices
}

struct MemcpyKind : KindDefaults<MemcpyKind> {
    using Node = PitchedCopy;
    static constexpr NodeNames names = {"Graph::add_memcpy_node", "Graph::set_memcpy_node",
                                        "GraphExec::set_memcpy_node", "copy"};
    using Add = Both<entry::cuGraphAddMemcpyNode, entry::cudaGraphAddMemcpyNode>;
    using Set = Both<entry::cuGraphMemcpyNodeSetParams, entry::cudaGraphMemcpyNodeSetParams>;
    using SetInExec =
        Both<entry::cuGraphExecMemcpyNodeSetParams, entry::cudaGraphExecMemcpyNodeSetParams>;

    static bool needs_context(const PitchedCopy &) noexcept { return false; }
    static Result<bool> check(const PitchedCopy &copy) noexcept { return detail::check(copy); }

    template <Api api>
    static auto native(const PitchedCopy &copy, CUcontext) noexcept {
        if constexpr (api == Api::driver) {
            return parameters_3d(copy);
        } else {
            const Extent &extent = copy.to.extent;
            const std::size_t width = extent.width * copy.element.size;
            cudaMemcpy3DParms native{};
            native.srcPtr = native_view(copy.from, width);
            native.dstPtr = native_view(copy.to, width);
            native.extent = {width, extent.height, extent.depth};
            native.kind = native_kind(copy.kind);
            return native;
        }
    }
};

unsigned long long address_in(CUmemorytype type, const void *host, CUdeviceptr device) noexcept {
    return type == CU_MEMORYTYPE_HOST ? reinterpret_cast<unsigned long long>(host) : device;
}

} // namespace

const NodeKind &kind_of(const PitchedCopy &) noexcept {
    return node_kind<MemcpyKind>;
}

} // namespace detail

using namespace detail;

// Through the driver for both APIs: libcudart returns 999 for copies between unified addresses that
// driver functions added.
Result<MemcpyNodeParams> Graph::memcpy_params(const GraphNode &node) const noexcept {
    return read_params<MemcpyNodeParams>(
        "Graph::memcpy_params", *this, node, {GraphNodeType::memcpy},
        [](auto, const FoundNode &found) -> Result<MemcpyNodeParams> {
            CUDA_MEMCPY3D native{};
            CUSHIM_TRY_VOID(call<entry::cuGraphMemcpyNodeGetParams>(found.native, &native));
            const Extent extent{native.WidthInBytes, native.Height, native.Depth};
            const auto to = address_in(native.dstMemoryType, native.dstHost, native.dstDevice);
            const auto from = address_in(native.srcMemoryType, native.srcHost, native.srcDevice);
            return MemcpyNodeParams{{to, extent, {native.dstPitch, native.dstHeight}},
                                    {from, extent, {native.srcPitch, native.srcHeight}}};
        });
}

} // namespace cushim
