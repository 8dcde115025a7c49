// Kernel launches.
#include "kernel.hpp"

#include "context/in_context.hpp"
#include "graph/kind.hpp"
#include "graph/reading.hpp"
#include "kernel/launch_config.hpp"

namespace cushim {
namespace detail {
namespace {

// For sizes that fit.
template <class Native>
Native parameters_of(const KernelNode &node, [[maybe_unused]] CUcontext context) noexcept {
    const auto [grid, block, shared_bytes] = native_sizes(node.config);
    Native native{};
    if constexpr (std::is_same_v<Native, cudaKernelNodeParams>) {
        native.gridDim = {grid.x, grid.y, grid.z};
        native.blockDim = {block.x, block.y, block.z};
    } else {
        native.gridDimX = grid.x;
        native.gridDimY = grid.y;
        native.gridDimZ = grid.z;
        native.blockDimX = block.x;
        native.blockDimY = block.y;
        native.blockDimZ = block.z;
    }
    native.sharedMemBytes = shared_bytes;
    native.kernelParams = node.arguments;
    if constexpr (requires { native.kern; }) {
        native.kern = reinterpret_cast<decltype(native.kern)>(node.kernel.native());
        native.ctx = context;
    } else {
        native.func = node.kernel.native();
    }
    return native;
}

// Calls use(functions, parameters) with the functions for this kernel, and CUDA's parameters.
template <Api api, class Use>
Result<void> with_parameters(const KernelNode &node, CUcontext context, const Use &use) noexcept {
    const auto use_of = [&]<class Kernels>(Kernels kernels) noexcept -> Result<void> {
        const auto native = parameters_of<typename Kernels::Native>(node, context);
        return use(kernels, &native);
    };
    if constexpr (api == Api::runtime) {
        return use_of(RuntimeKernels());
    } else {
#if CUDA_VERSION >= 12000
        if (node.kernel.is_of_library()) {
            return use_of(LibraryKernels());
        }
#endif
        return use_of(ModuleKernels());
    }
}

// The result of set(), which passes the launch to CUDA, for a new node as well as for an existing
// one. If CUDA rejects the launch, the error has the limit that it exceeds.
template <Api api, class Set>
Result<void> explained_launch(const KernelNode &node, CUcontext context, const Set &set) noexcept {
    constexpr bool is_lacking = api == Api::runtime && Lacking<RuntimeKernels::Add>;
    if (api == Api::runtime && !is_lacking && !node.kernel.is_of_library()) {
        return Error::unsupported_platform("the runtime API does not support nodes with kernels of "
                                           "a Module; load a Library, or use a graph of the driver "
                                           "API");
    }
    const Result<void> done =
        is_lacking || sizes_fit(node.config) ? set() : Result<void>(unfit_sizes(node.config));
    if (!done) [[unlikely]] {
        return explain_launch(done.error(), node.kernel, Context::borrow(context), node.config);
    }
    return {};
}

struct KernelKind : KindDefaults<KernelKind> {
    using Node = KernelNode;
    static constexpr NodeNames names = {"Graph::add_kernel_node", "Graph::set_kernel_node",
                                        "GraphExec::set_kernel_node"};

    static bool needs_context(const KernelNode &node) noexcept {
        return !node.kernel.is_of_library() || asks_for_attributes(node.config);
    }
    static Result<bool> check(const KernelNode &node) noexcept {
        CUSHIM_TRY_VOID(require(node.kernel, "the Kernel is empty"));
        return true;
    }

    template <Api api>
    static Result<void> add_parameters(const NewNode &place, const KernelNode &node) noexcept {
        return with_parameters<api>(node, place.context,
                                    [&]<class Kernels>(Kernels, const auto *native) noexcept {
                                        return place.add_by<typename Kernels::Add>(native);
                                    });
    }
    template <Api api>
    static Result<void> add(const NewNode &place, const KernelNode &node) noexcept {
        return explained_launch<api>(node, place.context, [&]() noexcept {
            return asks_for_attributes(node.config)
                       ? add_with_attributes(api, place, node, add_parameters<api>)
                       : add_parameters<api>(place, node);
        });
    }

    template <Api api>
    static Result<void> set_parameters(const KernelChange &change) noexcept {
        return with_parameters<api>(change.to, change.context,
                                    [&]<class Kernels>(Kernels, const auto *native) noexcept {
                                        return call<typename Kernels::Set>(change.node, native);
                                    });
    }
    template <Api api>
    static Result<void> set(CUgraphNode node, const KernelNode &to, CUcontext context) noexcept {
        return explained_launch<api>(to, context, [&]() noexcept {
            return change_kernel({api, node, to, context}, set_parameters<api>);
        });
    }

    template <Api api>
    static Result<void> set_in_exec(const NodeInExec &node, const KernelNode &to) noexcept {
        const LaunchConfig &config = to.config;
        const KnownLaunch launch = {to.kernel.native(), config.cooperative, config.priority,
                                    config.cluster};
        // Other attributes are not stored: an executable graph cannot have them changed.
        const bool has_others = config.programmatic_stream_serialization || !config.more.empty();
        KnownLaunch *const known = has_others ? nullptr : node.known;
        return explained_launch<api>(to, node.context, [&]() noexcept -> Result<void> {
            if (known == nullptr || *known != launch) {
                CUSHIM_TRY(const ContextScope scope, ContextScope::enter(node.context));
                CUSHIM_TRY_VOID(require_same_attributes({api, node.node, to, node.context}));
            }
            CUSHIM_TRY_VOID(with_parameters<api>(
                to, node.context, [&]<class Kernels>(Kernels, const auto *native) noexcept {
                    return node.set_by<typename Kernels::SetInExec>(native);
                }));
            if (known != nullptr) {
                *known = launch;
            }
            return {};
        });
    }
};

} // namespace

const NodeKind &kind_of(const KernelNode &) noexcept {
    return node_kind<KernelKind>;
}

} // namespace detail

Result<KernelNodeParams> Graph::kernel_params(const GraphNode &node) const noexcept {
    using namespace detail;
    return read_params<KernelNodeParams>(
        "Graph::kernel_params", *this, node, {GraphNodeType::kernel},
        [](auto, const FoundNode &found) -> Result<KernelNodeParams> {
            KernelNodeParams params;
            CUSHIM_TRY_VOID(with_parameters_of(found.native, [&](auto, auto &native) noexcept {
                params = {native.func,
                          {native.gridDimX, native.gridDimY, native.gridDimZ},
                          {native.blockDimX, native.blockDimY, native.blockDimZ},
                          native.sharedMemBytes};
                if constexpr (requires { native.kern; }) {
                    if (native.kern != nullptr) {
                        params.function = reinterpret_cast<CUfunction>(native.kern);
                    }
                }
                return Result<void>();
            }));
            return params;
        });
}

} // namespace cushim
