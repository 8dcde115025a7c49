/* The error hook: receives every error, for a log.
 *
 *     cushim::set_error_hook({[](const cushim::Error &error, void *) {
 *         std::fprintf(stderr, "%s\n", error.message());
 *     }});
 */
#ifndef CUSHIM_ERROR_HOOK_HPP
#define CUSHIM_ERROR_HOOK_HPP

#include <cushim/error.hpp>

namespace cushim {

// Receives errors. Must not throw. Errors of cushim functions that it calls are not passed to it.
using ErrorHook = void (*)(const Error &error, void *user);

// A hook and its argument.
struct ErrorHookSetting {
    ErrorHook hook = nullptr; // null: unset
    void *user = nullptr;     // passed to the hook
};

/* Sets the hook, and returns the previous one. Initially it is unset.
 *
 * It is called once for each error of a public function of cushim, before that returns. If public
 * functions call each other, the error has the name of the inner one at that time; errors that the
 * outer one handles are passed, too. Errors that programs make, failures of destructors
 * (teardown.hpp), and statuses of calls through the tables are not.
 *
 * Threads: any. The hook is called on the thread of the failing function, on several at the same
 * time if necessary. The previous hook may still be running on another thread when this returns. */
CUSHIM_API ErrorHookSetting set_error_hook(ErrorHookSetting setting) noexcept;

} // namespace cushim

#endif
