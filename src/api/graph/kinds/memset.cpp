// Fills.
#include "graph/kind.hpp"
#include "graph/reading.hpp"
#include "memory/pitched_copy.hpp"

namespace cushim {
namespace detail {
namespace {

struct MemsetKind : KindDefaults<MemsetKind> {
    using Node = PitchedFill;
    static constexpr NodeNames names = {"Graph::add_memset_node", "Graph::set_memset_node",
                                        "GraphExec::set_memset_node", "fill"};
    using Native = Both<CUDA_MEMSET_NODE_PARAMS, cudaMemsetParams>;
    using Add = Both<entry::cuGraphAddMemsetNode, entry::cudaGraphAddMemsetNode>;
    using Set = Both<entry::cuGraphMemsetNodeSetParams, entry::cudaGraphMemsetNodeSetParams>;
    using SetInExec =
        Both<entry::cuGraphExecMemsetNodeSetParams, entry::cudaGraphExecMemsetNodeSetParams>;
    using Get = Both<entry::cuGraphMemsetNodeGetParams, entry::cudaGraphMemsetNodeGetParams>;

    static bool needs_context(const PitchedFill &) noexcept { return false; }

    // CUDA's node supports rows, but not layers.
    static Result<bool> check(const PitchedFill &fill) noexcept {
        CUSHIM_TRY(const bool has_elements, detail::check(fill));
        const auto &[address, extent, pitch] = fill.to;
        if (has_elements && extent.depth > 1 && pitch.layer != extent.height) {
            return invalid_argument("layer pitch %zu rows, height %zu rows: the layers of a memset "
                                    "node must be adjacent; add a memset node for each layer",
                                    pitch.layer, extent.height);
        }
        return has_elements;
    }

    template <Api api>
    static auto native(const PitchedFill &fill, CUcontext) noexcept {
        In<Native, api> native{};
        native.dst = native_pointer<api>(fill.to.address);
        native.pitch = fill.to.pitch.row;
        native.value = fill.value;
        native.elementSize = static_cast<unsigned int>(fill.element.size);
        native.width = fill.to.extent.width;
        native.height = fill.to.extent.height * fill.to.extent.depth;
        return native;
    }
};

} // namespace

const NodeKind &kind_of(const PitchedFill &) noexcept {
    return node_kind<MemsetKind>;
}

} // namespace detail

using namespace detail;

Result<MemsetNodeParams> Graph::memset_params(const GraphNode &node) const noexcept {
    return read_back<MemsetKind>("Graph::memset_params", *this, node, GraphNodeType::memset,
                                 [](const auto &native) {
                                     MemsetNodeParams params;
                                     params.to = {address_of(native.dst),
                                                  {native.width, native.height, 1},
                                                  {native.pitch, native.height}};
                                     params.element_size = native.elementSize;
                                     params.value = native.value;
                                     return params;
                                 });
}

} // namespace cushim
