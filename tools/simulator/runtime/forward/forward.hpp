// Runtime functions that only call a driver function: forwarded.txt. Their exports call forward(),
// which converts each argument to the type that the driver function has in its place.
#pragma once

#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/graph/graph_parameters.hpp"
#include "runtime/kernel/symbol.hpp"

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sim::runtime {

template <class T>
constexpr bool is_complete = requires { sizeof(T); };
template <>
inline constexpr bool is_complete<void> = false;

// Handles, void, and structures and numbers of equal layout.
template <class To, class From>
constexpr bool same_target() {
    if constexpr (is_complete<To> && is_complete<From>) {
        return same_layout<To, From>;
    } else {
        return true;
    }
}

template <class To, class From>
To converted(From given) {
    if constexpr (std::is_same_v<From, cudaStream_t>) {
        return stream_of(given);
    } else if constexpr (std::is_same_v<From, To>) {
        return given;
    } else if constexpr (std::is_enum_v<From> || std::is_integral_v<From>) {
        static_assert(sizeof(To) >= sizeof(From));
        return static_cast<To>(given);
    } else if constexpr (std::is_class_v<From>) {
        return same_struct<To>(given);
    } else if constexpr (std::is_same_v<To, CUdeviceptr>) {
        return address(given);
    } else if constexpr (std::is_function_v<std::remove_pointer_t<From>>) {
        return reinterpret_cast<To>(given);
    } else {
        using Target = std::remove_const_t<std::remove_pointer_t<From>>;
        static_assert(same_target<std::remove_const_t<std::remove_pointer_t<To>>, Target>());
        return reinterpret_cast<To>(const_cast<Target *>(given));
    }
}

// An argument of the driver function, for the duration of the call.
template <class To, class From>
class DriverArgument {
  public:
    explicit DriverArgument(From given) : value_(converted<To>(given)) {}
    To get() const noexcept { return value_; }
    void hand_back() const noexcept {}

  private:
    To value_;
};

// The runtime names a kernel by the address of its host function, or by its handle.
template <>
class DriverArgument<CUfunction, const void *> : public DriverArgument<CUfunction, CUfunction> {
  public:
    explicit DriverArgument(const void *given)
        : DriverArgument<CUfunction, CUfunction>(function_of(given)) {}
};
#if CUDART_VERSION >= 12000
template <>
class DriverArgument<CUkernel, const void *> : public DriverArgument<CUkernel, CUkernel> {
  public:
    explicit DriverArgument(const void *given)
        : DriverArgument<CUkernel, CUkernel>(kernel_of(given)) {}
};
#endif

// Parameters of a graph node that the call reads.
template <class To, class From>
    requires requires(To &node, const From &given, Lists &lists) { to_driver(node, given, lists); }
class DriverArgument<const To *, const From *> {
  public:
    explicit DriverArgument(const From *given) {
        require(given != nullptr);
        to_driver(node_, *given, lists_);
    }
    const To *get() const noexcept { return &node_; }
    void hand_back() const noexcept {}

  private:
    To node_{};
    Lists lists_;
};

// Parameters of a graph node that the call writes, and those that it reads and writes.
template <class To, class From>
    requires requires(From &given, const To &node) { to_runtime(given, node); }
class DriverArgument<To *, From *> {
  public:
    explicit DriverArgument(From *given) : given_(given) {
        require(given != nullptr);
        if constexpr (is_also_read<From>) {
            to_driver(node_, *given, lists_);
        }
    }
    To *get() noexcept { return &node_; }
    void hand_back() { to_runtime(*given_, node_); }

  private:
    From *given_;
    To node_{};
    Lists lists_;
};

// A last argument that only the driver function has is the current context.
template <class... To, class... Converted>
cudaError_t call(const Entry<CUresult(To...)> &entry, bool with_context, Converted &&...converted) {
    const auto called = [&](auto... more) {
        if (with_context) {
            need_context();
        }
        return entry(converted.get()..., more...);
    };
    cudaError_t status;
    if constexpr (sizeof...(To) == sizeof...(Converted)) {
        status = called();
    } else {
        status = called(current_context());
    }
    if (status == cudaSuccess) {
        (converted.hand_back(), ...);
    }
    return status;
}

template <class... To, class... From>
cudaError_t forward(const Entry<CUresult(To...)> &entry, bool with_context, From... given) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        using Wanted = std::tuple<To...>;
        return call(entry, with_context,
                    DriverArgument<std::tuple_element_t<i, Wanted>, From>(given)...);
    }(std::index_sequence_for<From...>());
}

// --- memcpy nodes whose parameters `copy` makes of the arguments

template <auto copy>
EXPORT cudaError_t add_copy(OUT cudaGraphNode_t *node, cudaGraph_t graph,
                            const cudaGraphNode_t *dependencies, size_t count, auto... given) {
    const CUDA_MEMCPY3D parameters = copy(given...);
    const CUcontext context = current_context();
    return CU(cuGraphAddMemcpyNode)(node, graph, dependencies, count, &parameters, context);
}

template <auto copy>
cudaError_t set_copy(cudaGraphNode_t node, auto... given) {
    const CUDA_MEMCPY3D parameters = copy(given...);
    return CU(cuGraphMemcpyNodeSetParams)(node, &parameters);
}

template <auto copy>
cudaError_t set_copy_step(cudaGraphExec_t executable, cudaGraphNode_t node, auto... given) {
    const CUDA_MEMCPY3D parameters = copy(given...);
    const CUcontext context = current_context();
    return CU(cuGraphExecMemcpyNodeSetParams)(executable, node, &parameters, context);
}

} // namespace sim::runtime
