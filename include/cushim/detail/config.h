/* The base of all public headers: visibility, and the atomic load of a slot.
 *
 * Usable from C11 and C++20. Includes nothing.
 */
#ifndef CUSHIM_DETAIL_CONFIG_H
#define CUSHIM_DETAIL_CONFIG_H

#ifdef _MSVC_LANG
#define CUSHIM_DETAIL_LANGUAGE _MSVC_LANG
#elif defined(__cplusplus)
#define CUSHIM_DETAIL_LANGUAGE __cplusplus
#else
#define CUSHIM_DETAIL_LANGUAGE 202002L
#endif
/* Not "C++20": the first compilers with C++20 report a number between C++17 and C++20. */
#if CUSHIM_DETAIL_LANGUAGE <= 201703L
#error "cushim needs C++20: compile with -std=c++20 or /std:c++20, or newer."
#endif

/* CUSHIM_CORE_API marks the exports of the library cushim-core (loader and tables), CUSHIM_API
 * those of the library cushim (wrappers). Users of the static libraries must define CUSHIM_STATIC;
 * the Meson dependency, the pkg-config files and the CMake targets do so. */
#if defined(_WIN32) && !defined(CUSHIM_STATIC)
#ifdef CUSHIM_BUILDING_CORE
#define CUSHIM_CORE_API __declspec(dllexport)
#else
#define CUSHIM_CORE_API __declspec(dllimport)
#endif
#ifdef CUSHIM_BUILDING
#define CUSHIM_API __declspec(dllexport)
#else
#define CUSHIM_API __declspec(dllimport)
#endif
#elif defined(_WIN32)
#define CUSHIM_CORE_API
#define CUSHIM_API
#elif defined(__GNUC__) && defined(CUSHIM_STATIC)
/* Hidden: a shared library that contains cushim does not export it, and slots are accessed without
 * the global offset table. */
#define CUSHIM_CORE_API __attribute__((visibility("hidden")))
#define CUSHIM_API __attribute__((visibility("hidden")))
#elif defined(__GNUC__)
#define CUSHIM_CORE_API __attribute__((visibility("default")))
#define CUSHIM_API __attribute__((visibility("default")))
#else
#define CUSHIM_CORE_API
#define CUSHIM_API
#endif

/* Keeps inline functions local to the program or library that they are compiled into. With the
 * static libraries, two libraries of one process may each contain a cushim, and must not use each
 * other's inline functions. */
#if defined(__GNUC__) && defined(CUSHIM_STATIC) && !defined(_WIN32)
#define CUSHIM_LOCAL __attribute__((visibility("hidden")))
#define CUSHIM_LOCAL_BEGIN _Pragma("GCC visibility push(hidden)")
#define CUSHIM_LOCAL_END _Pragma("GCC visibility pop")
#else
#define CUSHIM_LOCAL
#define CUSHIM_LOCAL_BEGIN
#define CUSHIM_LOCAL_END
#endif

/* Marks functions and lambdas that are inlined early, so that objects that they take by reference
 * can stay in registers. */
#ifdef __GNUC__
#define CUSHIM_INLINE __attribute__((always_inline))
#else
#define CUSHIM_INLINE
#endif

/* Marks functions that only failures call. */
#ifdef __GNUC__
#define CUSHIM_COLD [[gnu::cold]]
#else
#define CUSHIM_COLD
#endif

/* The tables of other libraries are archives, with cushim's shared library too: each program has
 * its own slots, and inline functions that call through these. */
#if defined(__GNUC__) && !defined(_WIN32)
#define CUSHIM_TABLE_API __attribute__((visibility("hidden")))
#define CUSHIM_TABLE_LOCAL __attribute__((visibility("hidden")))
#define CUSHIM_TABLE_LOCAL_BEGIN _Pragma("GCC visibility push(hidden)")
#define CUSHIM_TABLE_LOCAL_END _Pragma("GCC visibility pop")
#else
#define CUSHIM_TABLE_API
#define CUSHIM_TABLE_LOCAL
#define CUSHIM_TABLE_LOCAL_BEGIN
#define CUSHIM_TABLE_LOCAL_END
#endif

#ifdef __cplusplus
#define CUSHIM_NOEXCEPT noexcept
#else
#define CUSHIM_NOEXCEPT
#endif

/* On these processors, code outside of the shared library reads the addresses of slots and of
 * first-call functions from the global offset table. In a program, a compiler would address them
 * directly. The linker would then give the program its own copy of the slot, while the library
 * fills its own, so that every call would resolve the function again. Assembly, because compilers
 * have no common option or attribute for this. See src/loader/README.md. */
#if defined(__GNUC__) && defined(__ELF__) && defined(__LP64__) && !defined(CUSHIM_STATIC)
#if defined(__x86_64__)
#define CUSHIM_DETAIL_FROM_GOT(to, name)                                                           \
    "mov{q}\t{" #name "@GOTPCREL(%%rip), %" #to "|%" #to ", QWORD PTR " #name "@GOTPCREL[rip]}"
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define CUSHIM_DETAIL_FROM_GOT(to, name)                                                           \
    "adrp\t%" #to ", :got:" #name "\n\tldr\t%" #to ", [%" #to ", :got_lo12:" #name "]"
#endif
#endif

/* For the CUDA function of that name: CUSHIM_FUNCTION_OF is the function to call, which its slot
 * holds. CUSHIM_ENTRY_ADDRESSES declares the members of an entry tag from which slot_of() and
 * first_of() (find_entry.hpp) get the addresses of the slot and of the first-call function. Headers
 * contain a thousand of each, so the definitions are those that compilers parse fastest: constants
 * where addresses are constant, otherwise one function for both. */
#if defined(CUSHIM_DETAIL_FROM_GOT) && !defined(CUSHIM_BUILDING_CORE)
#define CUSHIM_FUNCTION_OF(name)                                                                   \
    __atomic_load_n(__extension__({                                                                \
                        decltype(&cushim_slot_##name) cushim_address;                              \
                        __asm__(CUSHIM_DETAIL_FROM_GOT(0, cushim_slot_##name)                      \
                                : "=r"(cushim_address));                                           \
                        cushim_address;                                                            \
                    }),                                                                            \
                    __ATOMIC_ACQUIRE)
#define CUSHIM_ENTRY_ADDRESSES(name)                                                               \
    static void addresses(pfn *&slot, pfn &first) noexcept {                                       \
        __asm__(CUSHIM_DETAIL_FROM_GOT(0, cushim_slot_##name) "\n\t" CUSHIM_DETAIL_FROM_GOT(       \
                    1, cushim_first_##name)                                                        \
                : "=&r"(slot), "=r"(first));                                                       \
    }
#else
#ifdef __GNUC__
#define CUSHIM_FUNCTION_OF(name) __atomic_load_n(&cushim_slot_##name, __ATOMIC_ACQUIRE)
#else
#define CUSHIM_FUNCTION_OF(name) CUSHIM_LOAD_SLOT(cushim_slot_##name)
#endif
#ifdef CUSHIM_STATIC
#define CUSHIM_ENTRY_ADDRESSES(name)                                                               \
    static constexpr pfn *slot = &cushim_slot_##name;                                              \
    static constexpr pfn first = cushim_first_##name;
#else
#define CUSHIM_ENTRY_ADDRESSES(name)                                                               \
    static void addresses(pfn *&slot, pfn &first) noexcept {                                       \
        slot = &cushim_slot_##name;                                                                \
        first = cushim_first_##name;                                                               \
    }
#endif
#endif

/* Marks a slot. Protected in the library: linkers reject code that addresses a slot directly. */
#if defined(CUSHIM_DETAIL_FROM_GOT) && defined(CUSHIM_BUILDING_CORE)
#define CUSHIM_SLOT_API __attribute__((visibility("protected")))
#else
#define CUSHIM_SLOT_API CUSHIM_CORE_API
#endif

/* Reads a slot of a table. Acquire, because the first call on another thread publishes it: a thread
 * that sees the pointer must also see the library that it points into. On x86 and with the default
 * memory model of MSVC that is a plain load. In C, MSVC
 * has no typeof, so the load is not volatile; the value is only called, so it is loaded once. */
#if defined(__GNUC__)
#define CUSHIM_LOAD_SLOT(slot) __atomic_load_n(&(slot), __ATOMIC_ACQUIRE)
#elif defined(_M_ARM64)
#error "cushim: on Arm, compile with clang or GCC: MSVC's plain loads do not acquire there."
#elif defined(__cplusplus)
#define CUSHIM_LOAD_SLOT(slot) (*static_cast<decltype(+(slot)) volatile *>(&(slot)))
#else
#define CUSHIM_LOAD_SLOT(slot) (slot)
#endif

#endif
