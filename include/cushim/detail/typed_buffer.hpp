/* What TypedBuffer needs of memory without its element type. */
#ifndef CUSHIM_DETAIL_TYPED_BUFFER_HPP
#define CUSHIM_DETAIL_TYPED_BUFFER_HPP

#include <cstddef>
#include <utility>
#include <vector>

#include <cushim/detail/copy.hpp>
#include <cushim/detail/owner.hpp>

namespace cushim::detail {

// The public class and its functions, for errors.
struct BufferNames {
    const char *type, *close, *release_after, *to_vector, *synchronized_span = nullptr;
};

// Each class of memory has a constant of this type, `kind`.
struct BufferKind {
    BufferNames names;
    bool on_host = false;  // span() is for the host
    bool on_device = true; // devices can use the memory; if also the host: device_address()
    bool has_rows = false;
    bool is_growable = false;
    bool is_lent = false; // memory of the caller, whose elements may be const
};

template <class Memory, class T>
using SpanOf = decltype(std::declval<const Memory &>().template span<T>());

template <class T, class Address>
T *pointer_to(Address address) noexcept {
    return reinterpret_cast<T *>(number_of(address));
}

// Calls function(argument), and returns out_of_memory if it throws std::bad_alloc or
// std::length_error.
CUSHIM_API Result<void> try_allocation(void (*function)(void *), void *argument) noexcept;

template <class T>
Result<std::vector<T>> vector_of(std::size_t size) noexcept {
    struct {
        std::size_t size;
        std::vector<T> values = {};
    } made{size};
    using Made = decltype(made);
    CUSHIM_DETAIL_TRY_VOID(cushim_done, try_allocation(
                                            [](void *user) {
                                                auto &of = *static_cast<Made *>(user);
                                                of.values.resize(of.size);
                                            },
                                            &made));
    return static_cast<std::vector<T> &&>(made.values);
}

} // namespace cushim::detail

#endif
