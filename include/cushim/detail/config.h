/* The base of all public headers: visibility, and the atomic load of a slot.
 *
 * Usable from C11 and C++11. Includes nothing.
 */
#ifndef CUSHIM_DETAIL_CONFIG_H
#define CUSHIM_DETAIL_CONFIG_H

/* Marks of declarations. Static libraries are hidden: a plugin that contains cushim keeps its copy
 * to itself, and two copies in a process do not use each other's functions.
 *
 *  mark                    of                                        static     shared
 *  CUSHIM_CORE_API         functions of cushim-core                  hidden     exported
 *  CUSHIM_SLOT_API         slots of cushim-core                      hidden     exported, protected
 *  CUSHIM_API              functions of cushim, the wrappers         hidden     exported
 *  CUSHIM_LOCAL            inline functions; with _BEGIN and _END    hidden     not marked
 *                          for a region
 *  CUSHIM_TABLE_API        functions and slots of further libraries  hidden     hidden: an archive
 *  CUSHIM_TABLE_LOCAL      inline functions that call these; with    hidden     hidden
 *                          _BEGIN and _END for a region
 *  CUSHIM_INLINE           functions and lambdas that are inlined early, so that objects that they
 *                          take by reference can stay in registers
 *  CUSHIM_COLD             functions that only failures call
 *  CUSHIM_NOEXCEPT         C functions that throw nothing
 *
 * Users of the static libraries define CUSHIM_STATIC; the Meson dependency, the pkg-config files
 * and the CMake targets do so. */
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
#elif defined(_WIN32) || !defined(__GNUC__)
#define CUSHIM_CORE_API
#define CUSHIM_API
#elif defined(CUSHIM_STATIC)
#define CUSHIM_CORE_API __attribute__((visibility("hidden")))
#define CUSHIM_API __attribute__((visibility("hidden")))
#else
#define CUSHIM_CORE_API __attribute__((visibility("default")))
#define CUSHIM_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__) && defined(CUSHIM_STATIC) && !defined(_WIN32)
#define CUSHIM_LOCAL __attribute__((visibility("hidden")))
#define CUSHIM_LOCAL_BEGIN _Pragma("GCC visibility push(hidden)")
#define CUSHIM_LOCAL_END _Pragma("GCC visibility pop")
#else
#define CUSHIM_LOCAL
#define CUSHIM_LOCAL_BEGIN
#define CUSHIM_LOCAL_END
#endif

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

#ifdef __GNUC__
#define CUSHIM_INLINE __attribute__((always_inline))
#define CUSHIM_COLD [[gnu::cold]]
#else
#define CUSHIM_INLINE
#define CUSHIM_COLD
#endif

#ifdef __cplusplus
#define CUSHIM_NOEXCEPT noexcept
#else
#define CUSHIM_NOEXCEPT
#endif

/* How code reaches the slot of a CUDA function; src/loader/README.md has the reasons.
 *
 *  with the static libraries, and inside of cushim-core    directly
 *  programs, with the shared library                       by its address in the global offset
 *                                                          table, which assembly reads
 *  the wrappers of the shared library                      as a member of an object with all slots
 *  shared libraries on other processors and Windows        as other data of a shared library
 *
 *  CUSHIM_FUNCTION_OF(api, name)      the function to call, which the slot holds
 *  CUSHIM_LOAD_SLOT(slot)             the same, for an expression
 *  CUSHIM_ENTRY_ADDRESSES(api, name)  the members of an entry tag from which slot_of() and
 *                                     first_of() (resolve_entry.hpp) get the two addresses:
 *                                     of the slot, and of the first-call function
 *
 * Headers contain a thousand of each, so the definitions are those that compilers parse fastest:
 * constants where addresses are constant, otherwise one function for both. */
#if defined(__GNUC__) && defined(__ELF__) && defined(__LP64__) && !defined(CUSHIM_STATIC)
#if defined(__x86_64__)
#define CUSHIM_DETAIL_FROM_GOT(to, name)                                                           \
    "mov{q}\t{" #name "@GOTPCREL(%%rip), %" #to "|%" #to ", QWORD PTR " #name "@GOTPCREL[rip]}"
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define CUSHIM_DETAIL_FROM_GOT(to, name)                                                           \
    "adrp\t%" #to ", :got:" #name "\n\tldr\t%" #to ", [%" #to ", :got_lo12:" #name "]"
#endif
#endif

#if defined(CUSHIM_DETAIL_FROM_GOT) && (defined(CUSHIM_BUILDING_CORE) || defined(CUSHIM_BUILDING))
#define CUSHIM_SLOT_TABLE 1 /* the slots are members of one object */
#endif

#if defined(CUSHIM_SLOT_TABLE) && defined(CUSHIM_BUILDING)
#define CUSHIM_FUNCTION_OF(api, name) __atomic_load_n(&cushim_slots_##api.name, __ATOMIC_ACQUIRE)
#define CUSHIM_ENTRY_ADDRESSES(api, name)                                                          \
    static void addresses(pfn *&slot, pfn &first) noexcept {                                       \
        slot = &cushim_slots_##api.name;                                                           \
        first = cushim_first_##name;                                                               \
    }
#elif defined(CUSHIM_DETAIL_FROM_GOT) && !defined(CUSHIM_BUILDING_CORE)
#define CUSHIM_FUNCTION_OF(api, name)                                                              \
    __atomic_load_n(__extension__({                                                                \
                        decltype(&cushim_slot_##name) cushim_address;                              \
                        __asm__(CUSHIM_DETAIL_FROM_GOT(0, cushim_slot_##name)                      \
                                : "=r"(cushim_address));                                           \
                        cushim_address;                                                            \
                    }),                                                                            \
                    __ATOMIC_ACQUIRE)
#define CUSHIM_ENTRY_ADDRESSES(api, name)                                                          \
    static void addresses(pfn *&slot, pfn &first) noexcept {                                       \
        __asm__(CUSHIM_DETAIL_FROM_GOT(0, cushim_slot_##name) : "=r"(slot));                       \
        __asm__(CUSHIM_DETAIL_FROM_GOT(0, cushim_first_##name) : "=r"(first));                     \
    }
#else
#define CUSHIM_FUNCTION_OF(api, name) CUSHIM_LOAD_SLOT(cushim_slot_##name)
#ifdef CUSHIM_STATIC
#define CUSHIM_ENTRY_ADDRESSES(api, name)                                                          \
    static constexpr pfn *slot = &cushim_slot_##name;                                              \
    static constexpr pfn first = cushim_first_##name;
#else
#define CUSHIM_ENTRY_ADDRESSES(api, name)                                                          \
    static void addresses(pfn *&slot, pfn &first) noexcept {                                       \
        slot = &cushim_slot_##name;                                                                \
        first = cushim_first_##name;                                                               \
    }
#endif
#endif

/* Protected in the library: linkers reject code that addresses a slot directly. */
#if defined(CUSHIM_DETAIL_FROM_GOT) && defined(CUSHIM_BUILDING_CORE)
#define CUSHIM_SLOT_API __attribute__((visibility("protected")))
#else
#define CUSHIM_SLOT_API CUSHIM_CORE_API
#endif

/* Acquire, because the first call on another thread publishes the function: a thread that sees it
 * must also see the library that contains it. On x86, and with the default memory model of MSVC,
 * this is a plain load. In MSVC's C, it is not volatile; that is safe, since the value is used
 * once. */
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
