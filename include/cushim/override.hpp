/* Replaces single entry points for a scope: for tests of code that calls CUDA.
 *
 *     cushim::ScopedOverride<cushim::entry::cuInit> init([](unsigned int) {
 *         return CUDA_ERROR_NO_DEVICE;
 *     });
 *
 * While the object lives, calls through the table on every thread reach the replacement; no library
 * is needed. Calls of other entry points cost nothing extra.
 *
 * An override belongs to the copy of cushim that this code is linked to. The shared libraries are
 * one copy for the whole process. A program or plugin that contains the static library has its own
 * copy: an override affects the calls of its own copy only.
 *
 * Overrides of one entry point must end in the reverse order of their beginning.
 *
 * Put a class that has an override as a member into an unnamed namespace: an override is local to
 * its program or library. With the static library, g++ warns about such a class elsewhere.
 *
 * Threads: any. A call on another thread may still run the replacement when the override ends.
 */
#ifndef CUSHIM_OVERRIDE_HPP
#define CUSHIM_OVERRIDE_HPP

#include <cushim/detail/loader.h>
#include <cushim/entry.hpp>

namespace cushim {

/* Overrides one entry point as long as this object lives: see the beginning of override.hpp. */
template <class Entry>
class [[nodiscard]] ScopedOverride {
  public:
    /* Begins the override. The replacement is a function of exactly the entry point's type, or a
     * lambda without captures. */
    [[nodiscard]] CUSHIM_LOCAL explicit ScopedOverride(typename Entry::pfn replacement) noexcept
        : before_(exchange(replacement)) {}

    ScopedOverride(const ScopedOverride &) = delete;
    ScopedOverride &operator=(const ScopedOverride &) = delete;

    CUSHIM_LOCAL ~ScopedOverride() { exchange(before_); }

    /* The function that the override replaced; call it from the replacement. If the entry point was
     * never called, this loads the library. If the library or the entry point is missing, the
     * returned function returns the status that a call without the override returns. */
    CUSHIM_LOCAL typename Entry::pfn original() const noexcept {
        // Resolves the entry point if before_ is its first-call function, which would call the
        // replacement.
        int status = 0;
        const auto function = detail::resolve_entry<Entry>(&before_, status);
        return function != nullptr ? function : before_;
    }

  private:
    CUSHIM_LOCAL static typename Entry::pfn exchange(typename Entry::pfn function) noexcept {
        return reinterpret_cast<typename Entry::pfn>(
            cushim_exchange_slot(reinterpret_cast<cushim_function *>(detail::slot_of<Entry>()),
                                 reinterpret_cast<cushim_function>(function)));
    }

    mutable typename Entry::pfn before_;
};

} // namespace cushim

#endif
