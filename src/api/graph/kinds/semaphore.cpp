// Signals of external semaphores, and waits for them.
#include <bit>

#include "graph/kind.hpp"
#include "graph/reading.hpp"
#include "interop/external_descriptions.hpp"

namespace cushim {
namespace detail {
namespace {

// The runtime's structs equal the driver's under other names.
template <class Runtime, class Driver>
constexpr bool same_operations =
    sizeof(Runtime) == sizeof(Driver) &&
    offsetof(Runtime, params.fence.value) == offsetof(Driver, params.fence.value) &&
    offsetof(Runtime, params.nvSciSync) == offsetof(Driver, params.nvSciSync) &&
    offsetof(Runtime, params.keyedMutex.key) == offsetof(Driver, params.keyedMutex.key) &&
    offsetof(Runtime, flags) == offsetof(Driver, flags);
static_assert(
    same_operations<cudaExternalSemaphoreSignalParams, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>);
static_assert(
    same_operations<cudaExternalSemaphoreWaitParams, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>);
static_assert(offsetof(cudaExternalSemaphoreWaitParams, params.keyedMutex.timeoutMs) ==
              offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.keyedMutex.timeoutMs));
static_assert(cudaExternalSemaphoreSignalSkipNvSciBufMemSync ==
              CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC);
static_assert(cudaExternalSemaphoreWaitSkipNvSciBufMemSync ==
              CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC);

using Semaphore = Both<CUexternalSemaphore, cudaExternalSemaphore_t>;

// CUDA copies the arrays.
template <Api api, class Native>
class SemaphoreArrays {
  public:
    SemaphoreArrays(const auto &from, const auto &parameters_of) {
        for (const auto &each : from) {
            const SemaphoreOperation &operation = each.operation();
            semaphores_.push_back(reinterpret_cast<In<Semaphore, api>>(operation.semaphore));
            operations_.push_back(std::bit_cast<Operation>(parameters_of(operation)));
        }
        native_.extSemArray = semaphores_.data();
        native_.paramsArray = operations_.data();
        native_.numExtSems = static_cast<unsigned int>(operations_.size());
    }
    SemaphoreArrays(SemaphoreArrays &&) = delete;

    const Native *parameters() const noexcept { return &native_; }

  private:
    using Operation = std::remove_cvref_t<decltype(Native().paramsArray[0])>;

    std::vector<In<Semaphore, api>> semaphores_;
    std::vector<Operation> operations_;
    Native native_{};
};

// `parameters_of` makes CUDA's struct of an operation.
template <class Kind, class Parameters, class Natives, auto parameters_of>
struct SemaphoreKind : KindDefaults<Kind> {
    using Node = Parameters;
    using Native = Natives;

    static Result<bool> check(const Node &node) noexcept {
        const char *const name = std::is_same_v<Node, SemaphoreSignalNode> ? "signals" : "waits";
        if (node.operations.empty()) {
            return invalid_argument("0 %s passed, minimum 1", name);
        }
        for (std::size_t index = 0; index < node.operations.size(); ++index) {
            if (node.operations[index].operation().semaphore == nullptr) {
                return invalid_argument("%s[%zu] is empty", name, index);
            }
        }
        return true;
    }
    static void add_owners(const void *node, std::vector<State *> &states) {
        for (const auto &operation : static_cast<const Node *>(node)->operations) {
            states.push_back(operation.operation().state);
        }
    }
    template <Api api>
    static auto native(const Node &node, CUcontext) {
        return SemaphoreArrays<api, In<Native, api>>(node.operations, parameters_of);
    }
};

struct SemaphoreSignalKind
    : SemaphoreKind<SemaphoreSignalKind, SemaphoreSignalNode,
                    Both<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, cudaExternalSemaphoreSignalNodeParams>,
                    signal_parameters> {
    static constexpr NodeNames names = {"Graph::add_semaphore_signal_node",
                                        "Graph::set_semaphore_signal_node",
                                        "GraphExec::set_semaphore_signal_node"};
    using Add = Both<entry::cuGraphAddExternalSemaphoresSignalNode,
                     entry::cudaGraphAddExternalSemaphoresSignalNode>;
    using Set = Both<entry::cuGraphExternalSemaphoresSignalNodeSetParams,
                     entry::cudaGraphExternalSemaphoresSignalNodeSetParams>;
    using SetInExec = Both<entry::cuGraphExecExternalSemaphoresSignalNodeSetParams,
                           entry::cudaGraphExecExternalSemaphoresSignalNodeSetParams>;
    using Get = Both<entry::cuGraphExternalSemaphoresSignalNodeGetParams,
                     entry::cudaGraphExternalSemaphoresSignalNodeGetParams>;
};

struct SemaphoreWaitKind
    : SemaphoreKind<SemaphoreWaitKind, SemaphoreWaitNode,
                    Both<CUDA_EXT_SEM_WAIT_NODE_PARAMS, cudaExternalSemaphoreWaitNodeParams>,
                    wait_parameters> {
    static constexpr NodeNames names = {"Graph::add_semaphore_wait_node",
                                        "Graph::set_semaphore_wait_node",
                                        "GraphExec::set_semaphore_wait_node"};
    using Add = Both<entry::cuGraphAddExternalSemaphoresWaitNode,
                     entry::cudaGraphAddExternalSemaphoresWaitNode>;
    using Set = Both<entry::cuGraphExternalSemaphoresWaitNodeSetParams,
                     entry::cudaGraphExternalSemaphoresWaitNodeSetParams>;
    using SetInExec = Both<entry::cuGraphExecExternalSemaphoresWaitNodeSetParams,
                           entry::cudaGraphExecExternalSemaphoresWaitNodeSetParams>;
    using Get = Both<entry::cuGraphExternalSemaphoresWaitNodeGetParams,
                     entry::cudaGraphExternalSemaphoresWaitNodeGetParams>;
};

// Signals have no timeout.
template <class Operation>
SemaphoreNodeParams params_of(CUexternalSemaphore semaphore, const Operation &operation) noexcept {
    constexpr unsigned int skips = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC |
                                   CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC;
    SemaphoreNodeParams params;
    params.semaphore = semaphore;
    params.value = operation.params.fence.value;
    params.key = operation.params.keyedMutex.key;
    if constexpr (requires { operation.params.keyedMutex.timeoutMs; }) {
        params.timeout_ms = operation.params.keyedMutex.timeoutMs;
    }
    params.fence = operation.params.nvSciSync.fence;
    params.skip_memory_sync = (operation.flags & skips) != 0;
    return params;
}

// The node owns the arrays.
template <class Kind, Api api>
Result<std::vector<SemaphoreNodeParams>> read_operations(CUgraphNode node) {
    CUSHIM_TRY(const auto native, (native_params<Kind, api>(node)));
    std::vector<SemaphoreNodeParams> params;
    for (unsigned int index = 0; index < native.numExtSems; ++index) {
        params.push_back(params_of(reinterpret_cast<CUexternalSemaphore>(native.extSemArray[index]),
                                   native.paramsArray[index]));
    }
    return params;
}

} // namespace

const NodeKind &kind_of(const SemaphoreSignalNode &) noexcept {
    return node_kind<SemaphoreSignalKind>;
}
const NodeKind &kind_of(const SemaphoreWaitNode &) noexcept {
    return node_kind<SemaphoreWaitKind>;
}

} // namespace detail

Result<std::vector<SemaphoreNodeParams>> Graph::semaphore_params(
    const GraphNode &node) const noexcept {
    using namespace detail;
    return read_params<std::vector<SemaphoreNodeParams>>(
        "Graph::semaphore_params", *this, node,
        {GraphNodeType::semaphore_signal, GraphNodeType::semaphore_wait},
        [](auto api, const FoundNode &found) {
            return found.type == GraphNodeType::semaphore_wait
                       ? read_operations<SemaphoreWaitKind, api>(found.native)
                       : read_operations<SemaphoreSignalKind, api>(found.native);
        });
}

} // namespace cushim
