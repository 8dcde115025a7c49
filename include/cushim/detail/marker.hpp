/* Marks that identify a program or library that contains cushim, for `cushim-info --audit`.
 *
 * A mark is an ELF note: strip and --gc-sections keep it, and its segment can be found without
 * symbols and without section headers. On Windows, the same bytes are the section ".cushim", and
 * the linker is instructed to keep it.
 *
 * A source file that is always linked contains, at global scope,
 *     CUSHIM_MARK(name_of_the_object, cushim::library_mark("nvml"));
 */
#ifndef CUSHIM_DETAIL_MARKER_HPP
#define CUSHIM_DETAIL_MARKER_HPP

#include <cushim/detail/config.h>

namespace cushim {

/* Types of the notes. Tools read them, so their meaning never changes. */
constexpr unsigned int marker_core = 0x101;    // the loader and the tables
constexpr unsigned int marker_dropin = 0x102;  // the cu* and cuda* functions under their own names
constexpr unsigned int marker_library = 0x103; // those of a further library

/* A note with the owner "cushim" and a text, whose size is a multiple of 4. */
template <unsigned int size>
struct Marker {
    unsigned int name_size;
    unsigned int text_size;
    unsigned int type;
    char name[8];
    char text[size];
};

template <unsigned int size>
constexpr Marker<(size + 3) / 4 * 4> mark_with(unsigned int type, const char (&text)[size]) {
    Marker<(size + 3) / 4 * 4> marker = {7, (size + 3) / 4 * 4, type, "cushim", {}};
    for (unsigned int i = 0; i < size; ++i) {
        marker.text[i] = text[i];
    }
    return marker;
}

/* The mark of a further library's drop-in; its text is the name in the library's description. */
template <unsigned int size>
constexpr auto library_mark(const char (&name)[size]) {
    return mark_with(marker_library, name);
}

} // namespace cushim

#if defined(_MSC_VER) && !defined(__clang__)
/* The linker merges the marks of all objects into one, and is instructed to keep that. */
#pragma section(".cushim", read)
#define CUSHIM_MARK(object, ...)                                                                   \
    __pragma(comment(linker, "/include:" #object)) extern "C" __declspec(selectany)                \
    __declspec(allocate(".cushim")) const auto object = __VA_ARGS__
#else
#if defined(_WIN32)
#define CUSHIM_MARK_SECTION ".cushim"
#else
#define CUSHIM_MARK_SECTION ".note.cushim"
#endif
/* The notes of a segment must be contiguous. GCC does not pad objects in named sections. */
#if defined(__clang__)
#define CUSHIM_MARK_ALONE no_sanitize("address"),
#else
#define CUSHIM_MARK_ALONE
#endif
#define CUSHIM_MARK_OBJECT(object, ...)                                                            \
    __attribute__((CUSHIM_MARK_ALONE section(CUSHIM_MARK_SECTION), used,                           \
                   aligned(4))) static constexpr auto object = __VA_ARGS__
#if defined(__MINGW32__)
/* GNU ld does not keep our section by itself, but it keeps the C runtime's function lists and
 * everything they refer to. This pointer is placed after the end of such a list, ".CRT$XTZ", where
 * it is never read. */
#define CUSHIM_MARK(object, ...)                                                                   \
    CUSHIM_MARK_OBJECT(object, __VA_ARGS__);                                                       \
    __attribute__((section(".CRT$XTZ_cushim"),                                                     \
                   used)) static constexpr const auto *object##_is_kept = &object
#else
#define CUSHIM_MARK(object, ...) CUSHIM_MARK_OBJECT(object, __VA_ARGS__)
#endif
#endif
#endif
