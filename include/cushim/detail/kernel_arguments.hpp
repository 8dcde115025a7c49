/* Which arguments a kernel accepts for its parameters, and how they are passed. */
#ifndef CUSHIM_DETAIL_KERNEL_ARGUMENTS_HPP
#define CUSHIM_DETAIL_KERNEL_ARGUMENTS_HPP

#include <cstddef>
#include <limits>
#include <type_traits>

#include <cushim/detail/launch_types.hpp>
#include <cushim/detail/owner.hpp>
#include <cushim/device_span.hpp>

namespace cushim::detail {

// Types of kernel parameters: they are passed as bytes.
template <class T>
concept KernelParameterType = std::is_object_v<T> && std::is_trivially_copyable_v<T>;

// Every value of A is a value of P, as in initialisation with braces.
template <class A, class P>
concept FitsInto = requires(const A &argument) { P{argument}; };
template <class A, class P>
concept NumberForParameter = std::is_arithmetic_v<A> && std::is_arithmetic_v<P> && FitsInto<A, P>;
// Only some values of A are values of P.
template <class A, class P>
concept IntegerForParameter =
    Integer<A> && sizeof(A) <= sizeof(long long) &&
    (Integer<P> || std::is_same_v<P, float> || std::is_same_v<P, double>) && !FitsInto<A, P>;

// A pointer to the same type, to its const version, or to void. Arrays do not count: they are in
// host memory.
template <class P>
using Pointee = std::remove_pointer_t<P>;
template <class A, class P>
concept SamePointee = std::is_void_v<Pointee<P>> ||
                      std::is_same_v<std::remove_cv_t<Pointee<A>>, std::remove_cv_t<Pointee<P>>>;
template <class A, class P>
concept PointerForParameter = std::is_pointer_v<P> && std::is_pointer_v<A> &&
                              std::is_convertible_v<A, P> && SamePointee<A, P>;

template <class T>
concept CompleteObject = std::is_object_v<T> && requires { sizeof(T); };
template <class P>
concept MemoryParameter =
    std::is_pointer_v<P> && CompleteObject<Pointee<P>> && DeviceType<Pointee<P>>;

// A DeviceSpan, or a type that converts to one, as buffers do.
template <class A, class P>
concept SpanForParameter = MemoryParameter<P> && !std::is_pointer_v<A> &&
                           std::is_convertible_v<A &, DeviceSpan<Pointee<P>>>;

// Mapped host memory, which is passed by its device address.
template <class A, class P>
concept MappedForParameter = MemoryParameter<P> && requires(A &argument) {
    requires std::is_convertible_v<decltype(argument.device_span()), DeviceSpan<Pointee<P>>>;
};

template <class A, class P>
concept NullForParameter = std::is_pointer_v<P> && std::is_null_pointer_v<A>;

// The type of an argument in a list of types: const only if it is a const object, since a const
// buffer is not for a parameter that writes.
template <class A>
using ArgumentType = std::conditional_t<std::is_class_v<std::remove_reference_t<A>>,
                                        std::remove_reference_t<A>, std::remove_cvref_t<A>>;

// Whether an argument of type A can be passed for a parameter of type P.
template <class A, class P>
concept KernelArgument =
    std::is_same_v<std::remove_const_t<A>, P> || NumberForParameter<A, P> ||
    IntegerForParameter<A, P> || PointerForParameter<A, P> || SpanForParameter<A, P> ||
    MappedForParameter<A, P> || NullForParameter<A, P>;

// For compiler errors: which argument does not fit, and why.
template <class... Types>
struct TypeList {};
template <std::size_t Index>
struct argument {
    template <class Given, class Parameter>
    struct does_not_fit {};
};
template <std::size_t Given, std::size_t Parameters>
struct wrong_number_of_arguments {};

// The first argument that does not fit; void if all do.
template <std::size_t Index, class Arguments, class Parameters>
struct FirstMisfit {
    using type = void;
};
template <std::size_t Index, class A, class... As, class P, class... Ps>
struct FirstMisfit<Index, TypeList<A, As...>, TypeList<P, Ps...>> {
    using type = typename std::conditional_t<
        KernelArgument<A, P>, FirstMisfit<Index + 1, TypeList<As...>, TypeList<Ps...>>,
        std::type_identity<typename argument<Index>::template does_not_fit<A, P>>>::type;
};
template <class Arguments, class Parameters>
struct MisfitOf;
template <class... As, class... Ps>
struct MisfitOf<TypeList<As...>, TypeList<Ps...>> {
    using type = typename std::conditional_t<
        sizeof...(As) == sizeof...(Ps), FirstMisfit<0, TypeList<As...>, TypeList<Ps...>>,
        std::type_identity<wrong_number_of_arguments<sizeof...(As), sizeof...(Ps)>>>::type;
};
template <class Arguments, class Parameters>
using Misfit = typename MisfitOf<Arguments, Parameters>::type;

// Whether these arguments can be passed to a kernel with these parameters.
template <class Arguments, class Parameters>
inline constexpr bool arguments_fit = std::is_void_v<Misfit<Arguments, Parameters>>;

// The type of a function, without noexcept.
template <class Function>
struct WithoutNoexceptOf {
    using type = Function;
};
template <class Returned, class... Parameters>
struct WithoutNoexceptOf<Returned(Parameters...) noexcept> {
    using type = Returned(Parameters...);
};
template <class Function>
using WithoutNoexcept = typename WithoutNoexceptOf<Function>::type;

template <class P, class A>
P parameter_from(A &argument) noexcept {
    if constexpr (SpanForParameter<A, P>) {
        const DeviceSpan<Pointee<P>> span = argument;
        return span.data();
    } else if constexpr (MappedForParameter<A, P>) {
        return argument.device_span().data();
    } else {
        return P(argument);
    }
}

// Whether float or double has exactly this number: its odd part fits into the mantissa.
template <class P>
constexpr bool is_exact(unsigned long long number) noexcept {
    const unsigned long long lowest_bit = number & (0 - number);
    return number == 0 || number / lowest_bit >> std::numeric_limits<P>::digits == 0;
}

// Whether the argument can be passed. Not if it is an owner without an object: closed, released,
// moved from, or default-constructed; a buffer that was allocated with no elements is valid. Not if
// it is an integer that the parameter cannot hold, a floating-point parameter exactly.
template <class P, class A>
bool is_passable([[maybe_unused]] const A &argument) noexcept {
    if constexpr (requires { Access::state(argument); }) {
        return static_cast<bool>(argument) || Access::is_zero_length(argument);
    } else if constexpr (IntegerForParameter<A, P> && std::is_integral_v<P>) {
        const P passed = static_cast<P>(argument);
        return static_cast<A>(passed) == argument && (passed < P(1)) == (argument < A(1));
    } else if constexpr (IntegerForParameter<A, P>) {
        const bool is_negative = argument < A(1) && argument != A(0);
        const auto number = static_cast<unsigned long long>(argument);
        return is_exact<P>(is_negative ? 0 - number : number);
    } else {
        return true;
    }
}

// An argument that cannot be passed, for the error.
struct UnpassableArgument {
    std::size_t index;
    bool is_number;
    long long number;
    bool is_unsigned; // of the number
    std::size_t parameter_size;
};
CUSHIM_API Error unpassable_argument(const UnpassableArgument &argument) noexcept;

template <class... Parameters, class... Arguments>
CUSHIM_COLD Error first_unpassable(const Arguments &...arguments) noexcept {
    UnpassableArgument found{};
    [[maybe_unused]] const auto look_at = [&]<class P, class A>(std::type_identity<P>,
                                                                const A &argument) noexcept {
        if (is_passable<P>(argument)) {
            ++found.index;
            return false;
        }
        if constexpr (IntegerForParameter<A, P>) {
            found = {found.index, true, static_cast<long long>(argument), std::is_unsigned_v<A>,
                     sizeof(P)};
        }
        return true;
    };
    (void)(look_at(std::type_identity<Parameters>(), arguments) || ...);
    return unpassable_argument(found);
}

} // namespace cushim::detail

#endif
