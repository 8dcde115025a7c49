/* Replaces single entry points for a scope: for tests of code that calls CUDA.
 *
 *     cushim::ScopedOverride<cushim::entry::cuInit> init([](unsigned int) {
 *         return CUDA_ERROR_NO_DEVICE;
 *     });
 *
 * Calls through the table, of every thread, reach the replacement as long as the object lives; no
 * library is needed for it. Calls of other entry points cost what they cost without.
 *
 * An override belongs to the copy of cushim that this code is linked to. The shared libraries are one
 * copy for the whole process. A program or plugin that contains the static library has its own copy:
 * an override in it changes no call of another copy, and overrides in other copies change none of its
 * calls.
 *
 * Overrides of one entry point end in the reverse order of their beginning. Threads: a call that is
 * under way on another thread when the override ends may still be inside the replacement.
 */
#ifndef CUSHIM_OVERRIDE_HPP
#define CUSHIM_OVERRIDE_HPP

#include <cushim/entry.hpp>

namespace cushim {

template <class Entry>
class [[nodiscard]] ScopedOverride {
  public:
    /* A function of exactly the entry point's type, or a lambda without captures. */
    [[nodiscard]] CUSHIM_LOCAL explicit ScopedOverride(typename Entry::pfn replacement) noexcept
        : before_(exchange(replacement)) {}

    ScopedOverride(const ScopedOverride &) = delete;
    ScopedOverride &operator=(const ScopedOverride &) = delete;

    CUSHIM_LOCAL ~ScopedOverride() { exchange(before_); }

    /* The function that the override replaced; call it from the replacement. If the entry point was never called,
     * this loads the library. If the library or the entry point is missing, the returned function returns the status
     * that a call without the override returns. */
    CUSHIM_LOCAL typename Entry::pfn original() const noexcept {
        // If before_ is the first-call function, it is resolved here: that function would call the replacement.
        int status = 0;
        const auto function = detail::find_entry<Entry>(&before_, status);
        return function != nullptr ? function : before_;
    }

  private:
    CUSHIM_LOCAL static typename Entry::pfn exchange(typename Entry::pfn function) noexcept {
        return reinterpret_cast<typename Entry::pfn>(
            cushim_exchange_slot(reinterpret_cast<cushim_function *>(Entry::slot()),
                                 reinterpret_cast<cushim_function>(function)));
    }

    mutable typename Entry::pfn before_;
};

} // namespace cushim

#endif
