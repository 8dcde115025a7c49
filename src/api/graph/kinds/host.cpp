// Calls of host functions.
#include "graph/kind.hpp"
#include "graph/reading.hpp"

namespace cushim {
namespace detail {
namespace {

struct HostKind : KindDefaults<HostKind> {
    using Node = HostNode;
    static constexpr NodeNames names = {"Graph::add_host_node", "Graph::set_host_node",
                                        "GraphExec::set_host_node"};
    using Native = Both<CUDA_HOST_NODE_PARAMS, cudaHostNodeParams>;
    using Add = Both<entry::cuGraphAddHostNode, entry::cudaGraphAddHostNode>;
    using Set = Both<entry::cuGraphHostNodeSetParams, entry::cudaGraphHostNodeSetParams>;
    using SetInExec =
        Both<entry::cuGraphExecHostNodeSetParams, entry::cudaGraphExecHostNodeSetParams>;
    using Get = Both<entry::cuGraphHostNodeGetParams, entry::cudaGraphHostNodeGetParams>;

    static bool needs_context(const HostNode &) noexcept { return false; }
    static Result<bool> check(const HostNode &host) noexcept {
        return host.function != nullptr ? Result<bool>(true) : no_host_memory(); // for the closure
    }

    template <Api api>
    static auto native(const HostNode &host, CUcontext) noexcept {
        In<Native, api> native{};
        native.fn = host.function;
        native.userData = host.user;
        return native;
    }
};

} // namespace

const NodeKind &kind_of(const HostNode &) noexcept {
    return node_kind<HostKind>;
}

} // namespace detail

using namespace detail;

Result<HostNodeParams> Graph::host_params(const GraphNode &node) const noexcept {
    return read_back<HostKind>(
        "Graph::host_params", *this, node, GraphNodeType::host,
        [](const auto &native) { return HostNodeParams{native.fn, native.userData}; });
}

} // namespace cushim
