// Waits for values in memory, and writes of values.
#include "graph/kind.hpp"
#include "graph/reading.hpp"

namespace cushim {
namespace detail {
namespace {

// Driver functions and captures can add such nodes to graphs of the runtime API.
struct NoBatchMemOps {
    static Error error() noexcept {
        return Error::unsupported_platform("the runtime API does not support nodes of memory "
                                           "operations; use a graph of the driver API");
    }
};

struct BatchMemOpKind : KindDefaults<BatchMemOpKind> {
    using Node = BatchMemOpNode;
    static constexpr NodeNames names = {"Graph::add_batch_mem_op_node",
                                        "Graph::set_batch_mem_op_node",
                                        "GraphExec::set_batch_mem_op_node"};
    using Add = Both<entry::cuGraphAddBatchMemOpNode, NoBatchMemOps>;
    using Set = Both<entry::cuGraphBatchMemOpNodeSetParams, NoBatchMemOps>;
    using SetInExec = Both<entry::cuGraphExecBatchMemOpNodeSetParams, NoBatchMemOps>;
    using Get = Both<entry::cuGraphBatchMemOpNodeGetParams, NoBatchMemOps>;
#if CUDA_VERSION >= 11070
    using Parameters = CUDA_BATCH_MEM_OP_NODE_PARAMS;
#else
    struct Parameters {
        CUcontext ctx;
        unsigned int count;
        CUstreamBatchMemOpParams *paramArray;
    };
#endif
    using Native = Both<Parameters, Parameters>;

    static Result<bool> check(const BatchMemOpNode &node) noexcept {
        return !node.operations.empty() ? Result<bool>(true)
                                        : Error::invalid_argument("0 operations passed, minimum 1");
    }

    // CUDA does not modify the array.
    template <Api api>
    static Parameters native(const BatchMemOpNode &node, CUcontext context) noexcept {
        Parameters native{};
        native.ctx = context;
        native.count = static_cast<unsigned int>(node.operations.size());
        native.paramArray = const_cast<CUstreamBatchMemOpParams *>(node.operations.data());
        return native;
    }
};

} // namespace

const NodeKind &kind_of(const BatchMemOpNode &) noexcept {
    return node_kind<BatchMemOpKind>;
}

} // namespace detail

using namespace detail;

Result<std::vector<CUstreamBatchMemOpParams>> Graph::batch_mem_op_params(
    const GraphNode &node) const noexcept {
    return read_back<BatchMemOpKind>(
        "Graph::batch_mem_op_params", *this, node, GraphNodeType::batch_mem_op,
        [](const auto &native) { // the node owns the array
            return std::vector(native.paramArray, native.paramArray + native.count);
        });
}

} // namespace cushim
