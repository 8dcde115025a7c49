/* Kernels: functions on a device, launched with arguments that the compiler checks.
 *
 *     CUSHIM_TRY(const auto add, module.kernel<void(const float *, float *, unsigned int)>("add"));
 *     CUSHIM_TRY_VOID(add.launch(stream, LaunchConfig::covering(n), from, to, n));
 *
 * A kernel comes from a Module or a Library, and keeps it loaded; or from a `__global__` function
 * that was compiled into the program: kernel_of().
 */
#ifndef CUSHIM_KERNEL_HPP
#define CUSHIM_KERNEL_HPP

#include <cushim/context.hpp>
#include <cushim/detail/kernel_arguments.hpp>
#include <cushim/detail/owner_values.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/launch.hpp>
#include <cushim/stream.hpp>

#include <type_traits>

struct CUkern_st; // behind CUkernel, which headers before CUDA 12.0 lack

namespace cushim {

class Library;
class Module;
template <class Signature>
class Kernel;

// Where a kernel expects a parameter.
struct KernelParameter {
    std::size_t offset = 0; // bytes, from the start of the parameters on the device
    std::size_t size = 0;   // bytes
};

// The attributes of a compiled kernel. Sizes are in bytes.
struct KernelAttributes {
    int max_threads_per_block = 0;    // that a launch may request
    int registers = 0;                // per thread
    int shared_bytes = 0;             // static, per block
    int constant_bytes = 0;           // of user-allocated constant memory that the kernel needs
    int local_bytes = 0;              // per thread
    int max_dynamic_shared_bytes = 0; // per block, that a launch may request
    int ptx_version = 0;              // virtual architecture of its PTX; 90: compute_90
    int binary_version = 0;           // architecture of its machine code; 90: sm_90
};

/* A kernel whose parameters the compiler does not know. as() returns a Kernel with a checked
 * launch(); launch_unchecked() launches without a check.
 *
 * It keeps its module or library loaded. Enqueued launches must have completed before the last
 * owner of the code (module, library or kernel) is destroyed.
 *
 * Threads: any number of threads may launch at the same time.
 * Context: see handle.hpp. A context argument selects the device: a kernel of a library is loaded
 * into that context if necessary; a kernel of a module accepts only the context of the module.
 * parameter_count() and parameter() of a library kernel fail with wrong_context if no context is
 * current and no primary context is active.
 * Errors: wrong_context; the status of the CUDA call, which may report a failure of earlier
 * asynchronous work.
 * Kernels of a library, and the functions cuKernel..., require CUDA 12.0. */
class AnyKernel : public detail::Shared<AnyKernel, detail::KernelHandle> {
  public:
    AnyKernel() noexcept = default;

    // Does not own; the lender must keep the code loaded.
    static AnyKernel borrow(CUfunction function) noexcept {
        return {{function, nullptr, false}, nullptr};
    }
    static AnyKernel borrow(CUkern_st *kernel) noexcept {
        return {{reinterpret_cast<CUfunction>(kernel), nullptr, true}, nullptr};
    }
    // The kernel of a symbol; see kernel_of(), which knows its parameters.
    CUSHIM_API static Result<AnyKernel> of_symbol(const Context &context,
                                                  const void *symbol) noexcept;

    // The CUfunction. For a kernel of a library it is the CUkernel, cast: CUDA's launch functions
    // accept it, too.
    CUfunction native() const noexcept { return value().native; }
    // Whether the kernel comes from a library: native() is a CUkernel.
    bool is_of_library() const noexcept { return value().of_library; }

    // Success if the kernel can be used in this context; wrong_context if its module belongs to
    // another one.
    CUSHIM_API Result<void> check_context(const Context &context) const noexcept;

    // The code belongs to the module or library; release or close that.
    CUfunction release() = delete;
    Result<void> close() = delete;

    // The kernel with a signature, for launches. The number and sizes of the parameters in the code
    // are compared with those of the signature once, here. If one differs, as() fails with
    // invalid_argument; the message has both values. The check needs CUDA 12.4 in driver and
    // headers, and for a library kernel a current context or an active primary context; otherwise
    // the signature is not checked. cuFuncGetParamInfo, cuKernelGetParamInfo;
    // cuDevicePrimaryCtxGetState.
    template <class Signature>
    Result<Kernel<Signature>> as() const noexcept {
        CUSHIM_DETAIL_TRY_VOID(
            cushim_done, check_parameters(Kernel<Signature>::sizes, Kernel<Signature>::count));
        return Kernel<Signature>(share());
    }

    // The mangled name; valid while the code is loaded. cuFuncGetName, cuKernelGetName, since
    // CUDA 12.3.
    CUSHIM_API Result<const char *> name() const noexcept;

    // The number of parameters, and the position and size of one; invalid_argument if it does not
    // exist. cuFuncGetParamInfo, cuKernelGetParamInfo, since CUDA 12.4.
    CUSHIM_API Result<std::size_t> parameter_count() const noexcept;
    CUSHIM_API Result<KernelParameter> parameter(std::size_t index) const noexcept;

    // attribute() returns one attribute (CU_FUNC_ATTRIBUTE_...); attributes() returns those of
    // KernelAttributes.
    // cuFuncGetAttribute, cuKernelGetAttribute.
    CUSHIM_API Result<int> attribute(const Context &context,
                                     CUfunction_attribute attribute) const noexcept;
    CUSHIM_API Result<KernelAttributes> attributes(const Context &context) const noexcept;

    // Sets an attribute for all launches after this call. For a kernel of a library it applies to
    // the device, in all contexts. cuFuncSetAttribute, cuKernelSetAttribute.
    CUSHIM_API Result<void> set_attribute(const Context &context, CUfunction_attribute attribute,
                                          int value) const noexcept;
    // Lets launches request this much dynamic shared memory. Required above 48 KiB.
    CUSHIM_API Result<void> set_max_dynamic_shared_bytes(const Context &context,
                                                         std::size_t bytes) const noexcept;
    // The preferred size of shared memory, in percent of the maximum per multiprocessor: 0 to 100,
    // or -1 for the driver's choice. A hint.
    CUSHIM_API Result<void> set_shared_memory_carveout(const Context &context,
                                                       int percent) const noexcept;

    // A CUfunction of this context, for calls through the tables; valid while the code is loaded.
    // cuKernelGetFunction.
    CUSHIM_API Result<CUfunction> function_in(const Context &context) const noexcept;

    // Enqueues a launch with pointers to the arguments, which are not checked: the caller
    // guarantees their number and types. They are copied before this returns. Otherwise see
    // Kernel::launch().
    CUSHIM_API Result<void> launch_unchecked(const Stream &stream, const LaunchConfig &config,
                                             void **arguments) const noexcept;

  protected:
    // launch_unchecked() for Kernel::launch().
    CUSHIM_API Result<void> launch_typed(const Stream &stream, const LaunchConfig &config,
                                         void **arguments) const noexcept;

  private:
    friend class Library;
    friend class Module;
    using Shared::Shared;

    // A kernel of this code, which it keeps loaded.
    CUSHIM_API AnyKernel(const detail::KernelHandle &handle, detail::State *code) noexcept;
    CUSHIM_API Result<void> check_parameters(const std::size_t *sizes,
                                             std::size_t count) const noexcept;
};

inline Text to_text(const AnyKernel &kernel) noexcept {
    return detail::text_of("AnyKernel", kernel);
}

// Signatures other than void(parameters) do not compile.
template <class Signature>
class Kernel {
    static_assert(!std::is_same_v<Signature, Signature>,
                  "the signature of a kernel must be void(types of its parameters)");
};

/* A kernel with known parameters, for launches: Kernel<void(const float *, unsigned int)>.
 *
 * Parameters are passed as bytes: they must be trivially copyable, and not references. */
template <class... Parameters>
class Kernel<void(Parameters...)> : public AnyKernel {
    static_assert(
        (detail::KernelParameterType<Parameters> && ...),
        "parameters of a kernel must be trivially copyable, and not references: they are passed "
        "as bytes");

  public:
    Kernel() noexcept = default;

    // Another owner of the kernel, which keeps the same code loaded.
    Kernel share() const noexcept { return Kernel(AnyKernel::share()); }

    /* Enqueues a launch. Each argument has its parameter's type or converts to it without loss:
     * - a number, if every value of its type fits; an integer, if its value fits
     * - a T * takes nullptr, a pointer to T, or memory of T (an object that converts to
     *   DeviceSpan<T>, or has device_span())
     * - a const T * takes the same, and a pointer to const T or memory of const T
     * - a void * takes nullptr or any pointer to non-const, a const void * any pointer; neither
     *   takes a buffer or a span
     * Other arguments do not compile. nullptr, and a buffer that was allocated with size 0, are
     * passed as a null address; a span is passed as its address, whatever its size.
     *
     * Arguments are copied before this returns. Memory that they point to must stay alive until the
     * kernel has completed.
     *
     * Errors:
     * wrong_context: the stream belongs to another context than the kernel's module.
     * CUDA_ERROR_INVALID_VALUE (1): a size exceeds a limit.
     * CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720): a cooperative grid exceeds its limit.
     * CUDA_ERROR_INVALID_CLUSTER_SIZE (912): a cluster exceeds its limit.
     * invalid_argument
     * - if the Kernel or the Stream is empty
     * - if a buffer was closed, released, moved from or default-constructed
     * - if the parameter cannot hold the value of an integer, a float or double exactly
     * - if a dimension of the grid, the block or a requested cluster is less than 1 or exceeds 32
     *   bits
     * - if the size of the shared memory exceeds 32 bits
     * - if there are too many launch attributes, or their array is null
     *
     * cuLaunchKernel. For a cooperative launch without other attributes:
     * cuLaunchCooperativeKernel. With other attributes: cuLaunchKernelEx, which requires a driver
     * of CUDA 11.6 and headers of CUDA 11.8. */
    template <class... Arguments>
        requires(detail::arguments_fit<detail::TypeList<detail::ArgumentType<Arguments>...>,
                                       detail::TypeList<Parameters...>>)
    Result<void> launch(const Stream &stream, const LaunchConfig &config,
                        Arguments &&...arguments) const noexcept {
        return with_arguments(
            "Kernel::launch",
            [&](void **pointers) noexcept { return launch_typed(stream, config, pointers); },
            arguments...);
    }
    /* The same, with LaunchConfig::covering(): at least one thread for each of `elements`, in
     * blocks of 256. The kernel must check that its thread has an element.
     *
     *     scale.launch_covering(stream, buffer.size(), buffer, 2.0F, buffer.size()).value(); */
    template <class... Arguments>
        requires(detail::arguments_fit<detail::TypeList<detail::ArgumentType<Arguments>...>,
                                       detail::TypeList<Parameters...>>)
    Result<void> launch_covering(const Stream &stream, std::size_t elements,
                                 Arguments &&...arguments) const noexcept {
        return detail::named("Kernel::launch_covering",
                             launch(stream, LaunchConfig::covering(elements), arguments...));
    }
    /* Arguments that do not fit. Compilers print the first of these: its position, counted from 0,
     * its type, and the type of the parameter. Here it is the second argument:
     *
     *     Misfit = argument<1>::does_not_fit<int, float *> */
    template <class... Arguments,
              class Misfit = detail::Misfit<detail::TypeList<detail::ArgumentType<Arguments>...>,
                                            detail::TypeList<Parameters...>>>
        requires(!std::is_void_v<Misfit>)
    Result<void> launch(const Stream &, const LaunchConfig &,
                        Arguments &&...) const noexcept = delete;
    template <class... Arguments,
              class Misfit = detail::Misfit<detail::TypeList<detail::ArgumentType<Arguments>...>,
                                            detail::TypeList<Parameters...>>>
        requires(!std::is_void_v<Misfit>)
    Result<void> launch_covering(const Stream &, std::size_t,
                                 Arguments &&...) const noexcept = delete;

    // For launches and graph nodes: calls `use` with pointers to the arguments, converted to
    // parameters, and a final null pointer. Errors name `function`.
    template <class Use, class... Arguments>
        requires(detail::arguments_fit<detail::TypeList<detail::ArgumentType<Arguments>...>,
                                       detail::TypeList<Parameters...>>)
    static auto with_arguments(const char *function, const Use &use,
                               Arguments &&...arguments) noexcept {
        using Returned = decltype(use(static_cast<void **>(nullptr)));
        if (!(detail::is_passable<Parameters>(arguments) && ...)) [[unlikely]] {
            return Returned(
                detail::named(function, detail::first_unpassable<Parameters...>(arguments...)));
        }
        return Returned(pass(use, detail::parameter_from<Parameters>(arguments)...));
    }

  private:
    friend class AnyKernel;

    explicit Kernel(AnyKernel &&kernel) noexcept : AnyKernel(static_cast<AnyKernel &&>(kernel)) {}

    template <class Use>
    CUSHIM_INLINE static auto pass(const Use &use, Parameters... parameters) noexcept {
        void *pointers[] = {__builtin_addressof(parameters)..., nullptr};
        return use(pointers);
    }

    static constexpr std::size_t count = sizeof...(Parameters);
    static constexpr std::size_t sizes[] = {sizeof(Parameters)..., 0};
};

template <class... Parameters>
Text to_text(const Kernel<void(Parameters...)> &kernel) noexcept {
    return detail::text_of("Kernel", kernel);
}

/* The kernel of a `__global__` function that nvcc or clang compiled into the program, for launches
 * in this context:
 *
 *     CUSHIM_TRY(const auto scale_by, cushim::kernel_of(context, scale));
 *
 * The code stays loaded until the context is destroyed or reset, or until the plugin that contains
 * the function is unloaded.
 *
 * Errors: cudaErrorInvalidDeviceFunction (98): the function is not a `__global__` function, or its
 * code is registered with another CUDA runtime than the one that cushim uses. Code is registered
 * with the runtime that the program is linked to: the drop-in, or the shared libcudart.
 * cudaErrorNoKernelImageForDevice (209): the program has no code for the device.
 *
 * cudaGetFuncBySymbol. */
template <class Function>
    requires std::is_function_v<Function>
Result<Kernel<detail::WithoutNoexcept<Function>>> kernel_of(const Context &context,
                                                            Function *function) noexcept {
    using Signature = detail::WithoutNoexcept<Function>;
    return detail::named("kernel_of", [&]() -> Result<Kernel<Signature>> {
        CUSHIM_DETAIL_TRY(cushim_found, const AnyKernel kernel,
                          AnyKernel::of_symbol(context, reinterpret_cast<const void *>(function)));
        return kernel.as<Signature>();
    });
}

} // namespace cushim

#endif
