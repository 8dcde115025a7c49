/* Puts the name of a public function into the error that it returns. */
#ifndef CUSHIM_DETAIL_NAMED_HPP
#define CUSHIM_DETAIL_NAMED_HPP

#include <type_traits>

#include <cushim/detail/result.hpp>
#include <cushim/error.hpp>

namespace cushim::detail {

/* `outcome` is a Result, an Error, or a callable without parameters that returns a Result:
 *
 *     return named("Stream::synchronize", call<entry::cuStreamSynchronize>(native()));
 *     return named("Stream::wait", [&]() -> Result<void> { ... });
 *
 * Public functions do this, and what implements one of them. The outermost one decides, since its
 * name replaces others.
 * `function` must live as long as the program. */
template <class Outcome>
auto named(const char *function, Outcome &&outcome) {
    using Plain = std::remove_cvref_t<Outcome>;
    if constexpr (std::is_same_v<Plain, Error>) {
        Error error(static_cast<Outcome &&>(outcome));
        name_error(error, function);
        return error;
    } else if constexpr (is_result<Plain>) {
        Plain result(static_cast<Outcome &&>(outcome));
        if (!result.has_value()) [[unlikely]] {
            name_error(result.error(), function);
        }
        return result;
    } else {
        auto result = outcome();
        if (!result.has_value()) [[unlikely]] {
            name_error(result.error(), function);
        }
        return result;
    }
}

} // namespace cushim::detail

#endif
