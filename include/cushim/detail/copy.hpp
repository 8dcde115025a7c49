/* Copies and fills without their element type, and the memory that they accept. */
#ifndef CUSHIM_DETAIL_COPY_HPP
#define CUSHIM_DETAIL_COPY_HPP

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cushim/detail/owner.hpp>
#include <cushim/device_span.hpp>
#include <cushim/pitched_span.hpp>

namespace cushim {

class Context;
class Stream;

namespace detail {

// CUDA's types of memory in one number: that of the destination times 2^16, plus that of the
// source. Unified: on any device.
constexpr unsigned int memory_types(CUmemorytype from, CUmemorytype to) noexcept {
    return static_cast<unsigned int>(to) << 16 | static_cast<unsigned int>(from);
}
enum class CopyKind : unsigned int {
    host_to_device = memory_types(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED),
    device_to_host = memory_types(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_HOST),
    device_to_device = memory_types(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED)
};

struct Copy {
    CopyKind kind;
    unsigned long long to;   // an address, of the host or the device
    unsigned long long from; // the same
    std::size_t to_size;     // elements
    std::size_t from_size;
    std::size_t element_size; // bytes
};
struct PitchedCopy {
    CopyKind kind;
    PitchedView to;
    PitchedView from;
    ElementType element;
};

// A value of one, two, four or eight bytes.
struct Fill {
    CUdeviceptr to;
    std::size_t size; // elements
    unsigned int element_size;
    unsigned long long value;
};
// A value of one, two or four bytes.
struct PitchedFill {
    PitchedView to;
    ElementType element;
    unsigned int value;
};

CUSHIM_API Result<void> copy(const Context &context, const Copy &copy) noexcept;
CUSHIM_API Result<void> copy(const Stream &stream, const Copy &copy) noexcept;
CUSHIM_API Result<void> copy(const Context &context, const PitchedCopy &copy) noexcept;
CUSHIM_API Result<void> copy(const Stream &stream, const PitchedCopy &copy) noexcept;
CUSHIM_API Result<void> fill(const Context &context, const Fill &fill) noexcept;
CUSHIM_API Result<void> fill(const Stream &stream, const Fill &fill) noexcept;
CUSHIM_API Result<void> fill(const Context &context, const PitchedFill &fill) noexcept;
CUSHIM_API Result<void> fill(const Stream &stream, const PitchedFill &fill) noexcept;

// The buffers of a copy or fill; null for other memory.
struct Buffers {
    const State *to;
    const State *from;
};
// In the order and context of a buffer; waits.
CUSHIM_API Result<void> copy(const Buffers &buffers, const Copy &copy) noexcept;
CUSHIM_API Result<void> copy(const Buffers &buffers, const PitchedCopy &copy) noexcept;
CUSHIM_API Result<void> fill(const Buffers &buffers, const Fill &fill) noexcept;
CUSHIM_API Result<void> fill(const Buffers &buffers, const PitchedFill &fill) noexcept;

template <class Way>
concept CopyWay = std::is_same_v<Way, Context> || std::is_same_v<Way, Stream>;

// --- the views: linear or with rows, on devices or the host

template <class View>
inline constexpr bool is_linear = false;
template <class T>
inline constexpr bool is_linear<DeviceSpan<T>> = true;
template <class T, std::size_t Size>
inline constexpr bool is_linear<std::span<T, Size>> = true;

template <class View>
inline constexpr bool has_rows = requires(const View &view) { view.view(); };

template <class View>
inline constexpr bool is_on_device = false;
template <class T>
inline constexpr bool is_on_device<DeviceSpan<T>> = true;
template <class T>
inline constexpr bool is_on_device<DevicePitchedSpan<T>> = true;

template <class View>
concept AnyView = (is_linear<View> || has_rows<View>) && requires { typename View::element_type; };

/* The view of memory that copies, fills and graph nodes use: span() of a buffer, a std::span of a
 * contiguous range. Views are unchanged. */
template <class Memory>
    requires(
        AnyView<std::remove_const_t<Memory>> || requires(Memory &memory) { memory.span(); } ||
        requires(Memory &memory) { std::span(memory); })
auto view_of(Memory &memory) noexcept {
    if constexpr (requires { memory.span(); }) {
        return memory.span();
    } else if constexpr (requires { std::span(memory); }) {
        return std::span(memory);
    } else {
        return memory;
    }
}
template <class Memory>
using ViewOf = decltype(view_of(std::declval<Memory &>()));

template <class Memory>
concept MemoryView = std::is_same_v<std::remove_cvref_t<Memory>, ViewOf<Memory>>;
// Not a temporary that holds its elements.
template <class Memory>
concept LastingMemory = std::is_lvalue_reference_v<Memory> || MemoryView<Memory> ||
                        requires(Memory &memory) { memory.span(); };

template <class To, class From>
concept SameElements =
    WritableDeviceType<typename To::element_type> &&
    std::is_same_v<std::remove_const_t<typename From::element_type>, typename To::element_type>;
template <class To, class From>
concept CopyableView = SameElements<To, From> && (is_on_device<To> || is_on_device<From>) &&
                       ((is_linear<To> && is_linear<From>) || (has_rows<To> && has_rows<From>));

template <class To, class From>
    requires CopyableView<To, From>
auto copy_between(const To &to, const From &from) noexcept {
    using T = typename To::element_type;
    constexpr CopyKind kind = !is_on_device<From> ? CopyKind::host_to_device
                              : is_on_device<To>  ? CopyKind::device_to_device
                                                  : CopyKind::device_to_host;
    if constexpr (has_rows<To>) {
        return PitchedCopy{kind, to.view(), from.view(), {sizeof(T), alignof(T)}};
    } else {
        return Copy{kind,      number_of(to.data()), number_of(from.data()),
                    to.size(), from.size(),          sizeof(T)};
    }
}

// A destination and a source with one element type, at least one of them in device memory.
template <class To, class From>
concept CopyableTo = requires(To &to, From &from) { copy_between(view_of(to), view_of(from)); };

template <class T>
auto bits_of(const T &value) noexcept {
    if constexpr (sizeof(T) == 1) {
        return __builtin_bit_cast(unsigned char, value);
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bit_cast(unsigned short, value);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(unsigned int, value);
    } else {
        return __builtin_bit_cast(unsigned long long, value);
    }
}

// CUDA fills rows, and has nodes, for at most four bytes.
template <class T>
inline constexpr bool fits_rows = sizeof(T) <= 4;

template <class To>
    requires(is_on_device<To> && FillableDeviceType<typename To::element_type> &&
             (is_linear<To> || fits_rows<typename To::element_type>))
auto fill_with(const To &to, const typename To::element_type &value) noexcept {
    using T = typename To::element_type;
    if constexpr (has_rows<To>) {
        return PitchedFill{to.view(), {sizeof(T), alignof(T)}, bits_of(value)};
    } else {
        return Fill{to.native(), to.size(), static_cast<unsigned int>(sizeof(T)), bits_of(value)};
    }
}

template <class To>
using ElementOf = typename ViewOf<To>::element_type;
template <class To>
concept Fillable = requires(To &to, const ElementOf<To> &value) { fill_with(view_of(to), value); };
template <class To>
concept FillableByNode = Fillable<To> && fits_rows<ElementOf<To>>;

// --- for compiler errors: why memory cannot be copied or filled

struct source {
    template <class From, class To>
    struct does_not_fit {}; // other elements
    template <class From, class To>
    struct has_other_shape {}; // only one of both has rows
};
struct destination {
    template <class Element>
    struct is_const {};
    template <class Element>
    struct is_in_host_memory {}; // and so is the source of a copy
    template <class Element>
    struct cannot_be_filled {}; // elements of this size
};
struct fill_value {
    template <class Value, class Element>
    struct does_not_fit {};
};

template <class To, class From>
auto copy_misfit() noexcept {
    using Element = typename To::element_type;
    using Source = std::remove_const_t<typename From::element_type>;
    if constexpr (std::is_const_v<Element>) {
        return destination::is_const<std::remove_const_t<Element>>();
    } else if constexpr (!std::is_same_v<Source, Element>) {
        return source::does_not_fit<Source, Element>();
    } else if constexpr (is_linear<To> != is_linear<From>) {
        return source::has_other_shape<From, To>();
    } else {
        return destination::is_in_host_memory<Element>();
    }
}
template <class To, class From>
concept MisfitCopy = AnyView<ViewOf<To>> && AnyView<ViewOf<From>> && !CopyableTo<To, From>;
template <class To, class From>
    requires MisfitCopy<To, From>
using CopyMisfit = decltype(copy_misfit<ViewOf<To>, ViewOf<From>>());

// Not a floating-point number for integers. A literal 0 is a null pointer.
template <class Value, class Element>
concept FillValue = (std::is_convertible_v<Value &, Element> ||
                     (std::is_integral_v<Value> && std::is_pointer_v<Element>)) &&
                    !(std::is_floating_point_v<Value> && std::is_integral_v<Element>);

template <class To, class Value>
auto fill_misfit() noexcept {
    using Element = typename To::element_type;
    if constexpr (std::is_const_v<Element>) {
        return destination::is_const<std::remove_const_t<Element>>();
    } else if constexpr (!is_on_device<To>) {
        return destination::is_in_host_memory<Element>();
    } else if constexpr (FillableDeviceType<Element> && !FillValue<Value, Element>) {
        return fill_value::does_not_fit<Value, Element>();
    } else {
        return destination::cannot_be_filled<Element>();
    }
}
template <class To, class Value>
concept MisfitFill = AnyView<ViewOf<To>> && (!Fillable<To> || !FillValue<Value, ElementOf<To>>);
template <class To, class Value>
concept MisfitFillByNode =
    AnyView<ViewOf<To>> && (!FillableByNode<To> || !FillValue<Value, ElementOf<To>>);
template <class To, class Value>
    requires MisfitFillByNode<To, Value>
using FillMisfit = decltype(fill_misfit<ViewOf<To>, Value>());

} // namespace detail
} // namespace cushim

#endif
