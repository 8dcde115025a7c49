#include <cushim/kernel.hpp>

#include "base/call.hpp"
#include "base/missing_entries.hpp"
#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "context/wrong_context.hpp"

#include <iterator>
#include <limits>
#include <utility>

namespace cushim {

using namespace detail;

namespace {

constexpr const char *empty = "the Kernel is empty";

Error in_another_context(const AnyKernel &kernel, CUcontext of_module,
                         const Context &passed) noexcept {
    return wrong_context(
        "the module of the kernel is loaded in context %s, but context %s was passed; load it in "
        "the latter, too, or use a Library",
        context_text(of_module, ordinal_of(kernel)).c_str(),
        context_text(passed.native(), ordinal_of(passed)).c_str());
}

Result<ContextScope> enter(const AnyKernel &kernel, const Context &context) noexcept {
    CUSHIM_TRY_VOID(kernel.check_context(context));
    return context.enter();
}

CUkern_st *as_kernel(CUfunction native) noexcept {
    return reinterpret_cast<CUkern_st *>(native);
}

Result<void> get_parameter(const AnyKernel &kernel, std::size_t index,
                           KernelParameter &found) noexcept {
    if (kernel.is_of_library()) {
        return call<entry::cuKernelGetParamInfo>(as_kernel(kernel.native()), index, &found.offset,
                                                 &found.size);
    }
    return call<entry::cuFuncGetParamInfo>(kernel.native(), index, &found.offset, &found.size);
}

// False past the last parameter, for which CUDA returns an error.
Result<bool> find_parameter(const AnyKernel &kernel, std::size_t index,
                            KernelParameter &found) noexcept {
    const Result<void> asked = get_parameter(kernel, index, found);
    if (!asked && asked.error().status() == CUDA_ERROR_INVALID_VALUE) {
        return false;
    }
    CUSHIM_TRY_VOID(asked);
    return true;
}

// The number of parameters, at least `known`.
Result<std::size_t> count_parameters(const AnyKernel &kernel, std::size_t known = 0) noexcept {
    for (std::size_t count = known;; ++count) {
        KernelParameter ignored;
        CUSHIM_TRY(const bool found, find_parameter(kernel, count, ignored));
        if (!found) {
            return count;
        }
    }
}

bool has_parameter_info(const AnyKernel &kernel) noexcept {
    return kernel.is_of_library() ? is_callable<entry::cuKernelGetParamInfo>()
                                  : is_callable<entry::cuFuncGetParamInfo>();
}

// An active primary context, which most programs use, or an empty one.
Result<Context> active_primary() noexcept {
    CUSHIM_TRY(const int devices, Device::count());
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
        CUSHIM_TRY(const Device device, Device::get(ordinal));
        unsigned int flags = 0;
        int active = 0;
        CUSHIM_TRY_VOID(call<entry::cuDevicePrimaryCtxGetState>(device.native(), &flags, &active));
        if (active != 0) {
            return Context::primary(device);
        }
    }
    return Context();
}

// Returns query(). The parameters of a library kernel can be read in any context, but not without
// one: query() runs in the current context, or else in an active primary context. Without either,
// returns `without_context`.
template <class Query, class Returned>
Returned in_some_context(const AnyKernel &kernel, const Query &query,
                         Returned without_context) noexcept {
    if (!kernel.is_of_library()) {
        return query();
    }
    CUSHIM_TRY(const Context current, Context::current());
    if (current) {
        return query();
    }
    CUSHIM_TRY(const Context primary, active_primary());
    if (!primary) {
        return without_context;
    }
    CUSHIM_TRY(const ContextScope scope, primary.enter());
    return query();
}

Error wrong_number(std::size_t in_kernel, std::size_t in_signature) noexcept {
    return invalid_argument(
        "the number of parameters is %zu in the kernel, but %zu in the signature", in_kernel,
        in_signature);
}

Result<void> compare_parameters(const AnyKernel &kernel, const std::size_t *sizes,
                                std::size_t count) noexcept {
    for (std::size_t index = 0; index < count; ++index) {
        KernelParameter found;
        CUSHIM_TRY(const bool is_there, find_parameter(kernel, index, found));
        if (!is_there) {
            return wrong_number(index, count);
        }
        if (found.size != sizes[index]) {
            return invalid_argument("the size of parameter %zu is %zu bytes in the "
                                    "kernel, but %zu bytes in the signature",
                                    index, found.size, sizes[index]);
        }
    }
    CUSHIM_TRY(const std::size_t all, count_parameters(kernel, count));
    return all == count ? Result<void>() : wrong_number(all, count);
}

Error no_context() noexcept {
    return Error::make(
        {.kind = ErrorKind::wrong_context,
         .detail =
             "no context is current on the calling thread, and no device has an active primary "
             "context; make a context current, or retain a primary context with "
             "Context::primary()"});
}

// The limit is that of the device, less the kernel's static shared memory.
struct SharedLimit {
    int bytes;
    int device;
};
Result<SharedLimit> shared_limit(const AnyKernel &kernel, const Context &context) noexcept {
    CUSHIM_TRY(const int fixed, kernel.attribute(context, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const int most,
               device.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    return SharedLimit{most - fixed, device.native()};
}

constexpr char too_much_shared[] =
    "dynamic shared memory size of %zu bytes exceeds the limit of %d bytes on device %d";

Error not_enough_shared(const Error &error, const AnyKernel &kernel, const Context &context,
                        std::size_t bytes) noexcept {
    if (error.status() != CUDA_ERROR_INVALID_VALUE) {
        return error;
    }
    const auto limit = shared_limit(kernel, context);
    return limit ? explained(error, too_much_shared, bytes, limit->bytes, limit->device) : error;
}

Error no_attribute(const Error &error, CUfunction_attribute attribute) noexcept {
    return error.status() == CUDA_ERROR_INVALID_VALUE
               ? explained(error, "the driver has no CUfunction_attribute %d",
                           static_cast<int>(attribute))
               : error;
}

// By number: older headers lack some names.
struct AttributeName {
    const char *name;
    bool is_read_only;
};
constexpr AttributeName attribute_names[] = {
    {"MAX_THREADS_PER_BLOCK", true},
    {"SHARED_SIZE_BYTES", true},
    {"CONST_SIZE_BYTES", true},
    {"LOCAL_SIZE_BYTES", true},
    {"NUM_REGS", true},
    {"PTX_VERSION", true},
    {"BINARY_VERSION", true},
    {"CACHE_MODE_CA", true},
    {"MAX_DYNAMIC_SHARED_SIZE_BYTES", false},
    {"PREFERRED_SHARED_MEMORY_CARVEOUT", false},
    {"CLUSTER_SIZE_MUST_BE_SET", true},
    {"REQUIRED_CLUSTER_WIDTH", false},
    {"REQUIRED_CLUSTER_HEIGHT", false},
    {"REQUIRED_CLUSTER_DEPTH", false},
    {"NON_PORTABLE_CLUSTER_SIZE_ALLOWED", false},
    {"CLUSTER_SCHEDULING_POLICY_PREFERENCE", false},
};

Error not_set(const Error &error, CUfunction_attribute attribute, int value) noexcept {
    const auto number = static_cast<unsigned int>(attribute);
    if (error.status() != CUDA_ERROR_INVALID_VALUE) {
        return error;
    }
    if (number >= std::size(attribute_names)) {
        return explained(error, "CUfunction_attribute %u cannot be set to %d", number, value);
    }
    const auto &[name, is_read_only] = attribute_names[number];
    return explained(error,
                     is_read_only ? "CU_FUNC_ATTRIBUTE_%s (%u) is read-only; value %d was passed"
                                  : "CU_FUNC_ATTRIBUTE_%s (%u) cannot be set to %d",
                     name, number, value);
}

} // namespace

Error detail::unpassable_argument(const UnpassableArgument &argument) noexcept {
    if (argument.is_number) {
        return invalid_argument(argument.is_unsigned
                                    ? "kernel argument %zu is %llu, which its parameter of %zu "
                                      "byte%s cannot hold"
                                    : "kernel argument %zu is %lld, which its parameter of %zu "
                                      "byte%s cannot hold",
                                argument.index, argument.number, argument.parameter_size,
                                plural(argument.parameter_size));
    }
    return invalid_argument(
        "kernel argument %zu is a buffer without memory: closed, released, moved from, or "
        "default-constructed",
        argument.index);
}

AnyKernel::AnyKernel(const KernelHandle &handle, State *code) noexcept : Shared(handle, code) {
    if (code != nullptr) {
        add_owner(code);
    }
}

Result<AnyKernel> AnyKernel::of_symbol(const Context &context, const void *symbol) noexcept {
    return named("AnyKernel::of_symbol", [&]() -> Result<AnyKernel> {
        if (symbol == nullptr) {
            return Error::invalid_argument("the symbol is null");
        }
        CUSHIM_TRY(const ContextScope scope, context.enter());
        CUfunction function = nullptr;
        Result<void> found = call<entry::cudaGetFuncBySymbol>(&function, symbol);
        if (!found && found.error().api() == Api::runtime) {
            // The caller's next cudaGetLastError() must not return it.
            (void)status_of<entry::cudaGetLastError>();
        }
        CUSHIM_TRY_VOID(explained(
            std::move(found), cudaErrorInvalidDeviceFunction,
            "0x%llx is not a __global__ function whose code is registered with the CUDA runtime "
            "that cushim uses; link the program to the drop-in or to that libcudart",
            number_of(symbol)));
        return AnyKernel({function, context.native(), false}, nullptr);
    });
}

Result<void> AnyKernel::check_context(const Context &context) const noexcept {
    return named("AnyKernel::check_context", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        if (value().context != nullptr && value().context != context.native()) {
            return in_another_context(*this, value().context, context);
        }
        return {};
    });
}

// --- parameters

Result<void> AnyKernel::check_parameters(const std::size_t *sizes,
                                         std::size_t count) const noexcept {
    return named("AnyKernel::as", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        if (!has_parameter_info(*this)) {
            return {}; // unknown
        }
        return in_some_context(
            *this, [&] { return compare_parameters(*this, sizes, count); }, Result<void>());
    });
}

Result<std::size_t> AnyKernel::parameter_count() const noexcept {
    return named("AnyKernel::parameter_count", [&]() -> Result<std::size_t> {
        CUSHIM_TRY_VOID(require(*this, empty));
        return in_some_context(
            *this, [&] { return count_parameters(*this); }, Result<std::size_t>(no_context()));
    });
}

Result<KernelParameter> AnyKernel::parameter(std::size_t index) const noexcept {
    return named("AnyKernel::parameter", [&]() -> Result<KernelParameter> {
        CUSHIM_TRY_VOID(require(*this, empty));
        const auto query = [&]() -> Result<KernelParameter> {
            KernelParameter found;
            CUSHIM_TRY(const bool is_there, find_parameter(*this, index, found));
            if (!is_there) {
                CUSHIM_TRY(const std::size_t count, count_parameters(*this));
                return count > 1
                           ? invalid_argument("parameter %zu does not exist; the kernel "
                                              "has parameters 0 to %zu",
                                              index, count - 1)
                           : invalid_argument("parameter %zu does not exist; the kernel has %s",
                                              index,
                                              count == 1 ? "only parameter 0" : "no parameters");
            }
            return found;
        };
        return in_some_context(*this, query, Result<KernelParameter>(no_context()));
    });
}

Result<const char *> AnyKernel::name() const noexcept {
    return named("AnyKernel::name", [&]() -> Result<const char *> {
        CUSHIM_TRY_VOID(require(*this, empty));
        const char *name = "";
        if (is_of_library()) {
            CUSHIM_TRY_VOID(call<entry::cuKernelGetName>(&name, as_kernel(native())));
        } else {
            CUSHIM_TRY_VOID(call<entry::cuFuncGetName>(&name, native()));
        }
        return name;
    });
}

// --- attributes

Result<int> AnyKernel::attribute(const Context &context,
                                 CUfunction_attribute attribute) const noexcept {
    return named("AnyKernel::attribute", [&]() -> Result<int> {
        CUSHIM_TRY(const ContextScope scope, enter(*this, context));
        int found = 0;
        if (is_of_library()) {
            CUSHIM_TRY(const Device device, context.device());
            const auto asked = call<entry::cuKernelGetAttribute>(
                &found, attribute, as_kernel(native()), device.native());
            return asked ? Result<int>(found) : no_attribute(asked.error(), attribute);
        }
        const auto asked = call<entry::cuFuncGetAttribute>(&found, attribute, native());
        return asked ? Result<int>(found) : no_attribute(asked.error(), attribute);
    });
}

Result<KernelAttributes> AnyKernel::attributes(const Context &context) const noexcept {
    return named("AnyKernel::attributes", [&]() -> Result<KernelAttributes> {
        CUSHIM_TRY(const ContextScope scope, enter(*this, context));
        KernelAttributes all;
        const struct {
            CUfunction_attribute attribute;
            int *value;
        } wanted[] = {
            {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &all.max_threads_per_block},
            {CU_FUNC_ATTRIBUTE_NUM_REGS, &all.registers},
            {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &all.shared_bytes},
            {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &all.constant_bytes},
            {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &all.local_bytes},
            {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &all.max_dynamic_shared_bytes},
            {CU_FUNC_ATTRIBUTE_PTX_VERSION, &all.ptx_version},
            {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &all.binary_version},
        };
        for (const auto &one : wanted) {
            CUSHIM_TRY(*one.value, attribute(context, one.attribute));
        }
        return all;
    });
}

Result<void> AnyKernel::set_attribute(const Context &context, CUfunction_attribute attribute,
                                      int value) const noexcept {
    return named("AnyKernel::set_attribute", [&]() -> Result<void> {
        CUSHIM_TRY(const ContextScope scope, enter(*this, context));
        if (is_of_library()) {
            CUSHIM_TRY(const Device device, context.device());
            const auto set = call<entry::cuKernelSetAttribute>(
                attribute, value, as_kernel(native()), device.native());
            return set ? set : not_set(set.error(), attribute, value);
        }
        const auto set = call<entry::cuFuncSetAttribute>(native(), attribute, value);
        return set ? set : not_set(set.error(), attribute, value);
    });
}

Result<void> AnyKernel::set_max_dynamic_shared_bytes(const Context &context,
                                                     std::size_t bytes) const noexcept {
    return named("AnyKernel::set_max_dynamic_shared_bytes", [&]() -> Result<void> {
        if (bytes > std::numeric_limits<int>::max()) {
            CUSHIM_TRY(const SharedLimit limit, shared_limit(*this, context));
            return invalid_argument(too_much_shared, bytes, limit.bytes, limit.device);
        }
        const Result<void> set = set_attribute(
            context, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
        return set ? set : not_enough_shared(set.error(), *this, context, bytes);
    });
}

Result<void> AnyKernel::set_shared_memory_carveout(const Context &context,
                                                   int percent) const noexcept {
    return named("AnyKernel::set_shared_memory_carveout", [&]() -> Result<void> {
        if (percent < -1 || percent > 100) {
            return invalid_argument(
                "carveout %d is out of range; pass 0 to 100 percent, or -1 for the driver's choice",
                percent);
        }
        return set_attribute(context, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent);
    });
}

Result<CUfunction> AnyKernel::function_in(const Context &context) const noexcept {
    return named("AnyKernel::function_in", [&]() -> Result<CUfunction> {
        CUSHIM_TRY(const ContextScope scope, enter(*this, context));
        if (is_of_library()) {
            CUfunction function = nullptr;
            CUSHIM_TRY_VOID(call<entry::cuKernelGetFunction>(&function, as_kernel(native())));
            return function;
        }
        return native();
    });
}

} // namespace cushim
