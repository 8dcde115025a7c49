/* Replaces single entry points for a scope: for tests of code that calls CUDA.
 *
 *     cushim::ScopedOverride<cushim::entry::cuInit> init([](unsigned int) {
 *         return CUDA_ERROR_NO_DEVICE;
 *     });
 *
 * Calls through the table, of every thread, reach the replacement as long as the object lives; no
 * library is needed for it. Calls of other entry points cost what they cost without.
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

    /* What stood there before: to call the original from a replacement. */
    typename Entry::pfn original() const noexcept { return before_; }

  private:
    CUSHIM_LOCAL static typename Entry::pfn exchange(typename Entry::pfn function) noexcept {
        return reinterpret_cast<typename Entry::pfn>(
            cushim_exchange_slot(reinterpret_cast<cushim_function *>(Entry::slot()),
                                 reinterpret_cast<cushim_function>(function)));
    }

    typename Entry::pfn before_;
};

} // namespace cushim

#endif
