/* What the C++ headers and the wrappers need of the loader. Usable from C11 and C++11. */
#ifndef CUSHIM_DETAIL_LOADER_H
#define CUSHIM_DETAIL_LOADER_H

#include <cushim/loader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces the function in a slot, and returns the previous one. */
CUSHIM_CORE_API cushim_function cushim_exchange_slot(cushim_function *slot,
                                                     cushim_function function) CUSHIM_NOEXCEPT;

/* The number of forks between this process and the first one that called this. Objects that store
 * it can tell whether they belong to a parent. Always 0 on systems without fork. */
CUSHIM_CORE_API unsigned int cushim_fork_generation(void) CUSHIM_NOEXCEPT;

/* After the first call, cushim_exiting returns whether the process has begun to exit. Exit handlers
 * run in reverse order, and the driver registers its own in cuInit: call this right after cuInit,
 * so that its handler runs before the driver's teardown. 0 on failure. */
CUSHIM_CORE_API int cushim_watch_exit(void) CUSHIM_NOEXCEPT;
CUSHIM_CORE_API int cushim_exiting(void) CUSHIM_NOEXCEPT;

/* Whether a destructor may call the library for an object of that cushim_fork_generation(): not for
 * an object of a parent process, and not once the process has begun to exit. */
CUSHIM_CORE_API int cushim_may_call(unsigned int generation) CUSHIM_NOEXCEPT;

/* Whether the library was searched for, and only at a path that a variable or the program chose. */
CUSHIM_CORE_API int cushim_is_chosen_by_path(cushim_library library) CUSHIM_NOEXCEPT;

/* The function of a slot: the one it holds, if resolved or overridden, otherwise that of the
 * library, which is then stored. NULL and a status if the function does not exist. */
CUSHIM_CORE_API cushim_function cushim_resolve_entry(cushim_library library, cushim_function *slot,
                                                     cushim_function first, const char *name,
                                                     int introduced, int *status) CUSHIM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
