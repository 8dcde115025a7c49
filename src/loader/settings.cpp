#include "settings.hpp"

#include <stdlib.h>
#include <string.h>

#include "candidates.hpp"

namespace cushim {

namespace {

constexpr size_t longest_path = 4000;

/* Copied settings, followed by their strings in the same block. */
struct Copy {
    cushim_settings settings;
    Copy *previous; // replaced copies are never freed, since threads may still read them
    bool frozen;    // no further replacement is possible
};

Copy defaults = {{nullptr, nullptr, CUSHIM_SEARCH_EVERYWHERE}, nullptr, false};
Copy frozen_defaults = {{nullptr, nullptr, CUSHIM_SEARCH_EVERYWHERE}, nullptr, true};
Copy *current = &defaults;

size_t length_of(const char *text) {
    return text != nullptr ? strlen(text) + 1 : 0;
}

const char *append(char *&end, const char *text) {
    if (text == nullptr || *text == '\0') {
        return nullptr;
    }
    const size_t length = length_of(text);
    memcpy(end, text, length);
    end += length;
    return end - length;
}

Copy *copy_of(const cushim_settings &from, bool frozen) {
    const size_t strings = length_of(from.driver_path) + length_of(from.runtime_path);
    Copy *copy = static_cast<Copy *>(malloc(sizeof(Copy) + strings));
    if (copy == nullptr) {
        return nullptr;
    }
    char *end = reinterpret_cast<char *>(copy + 1);
    copy->settings.driver_path = append(end, from.driver_path);
    copy->settings.runtime_path = append(end, from.runtime_path);
    copy->settings.search = from.search;
    copy->frozen = frozen;
    return copy;
}

bool valid(const cushim_settings &settings) {
    return (settings.search & ~static_cast<unsigned int>(CUSHIM_SEARCH_EVERYWHERE)) == 0 &&
           length_of(settings.driver_path) <= longest_path &&
           length_of(settings.runtime_path) <= longest_path;
}

/* Replaces the current settings with `next`, unless they are frozen. */
bool publish(Copy *next) {
    Copy *before = atomics::load(&current);
    do {
        if (before->frozen) {
            return false;
        }
        next->previous = before;
    } while (!atomics::replace(&current, before, next));
    return true;
}

/* Instead of the path of a further library that was searched for without one. */
const char no_path[] = "";

/* The path of a further library is chosen once; true unless the other choice was first. */
bool choose(Library &library, const char *path) {
    const char *before = nullptr;
    return atomics::replace(&library.chosen, before, path);
}

void freeze_all_libraries() {
    Copy *before = atomics::load(&current);
    while (!before->frozen) {
        Copy *frozen = before == &defaults ? &frozen_defaults : copy_of(before->settings, true);
        if (frozen == nullptr) {
            return; // out of memory: a later search tries again
        }
        if (frozen != &frozen_defaults) {
            frozen->previous = before;
        }
        if (atomics::replace(&current, before, frozen)) {
            return;
        }
        if (frozen != &frozen_defaults) {
            free(frozen);
        }
    }
}

} // namespace

void freeze_settings(Library &library) {
    freeze_all_libraries();
    choose(library, no_path);
}

const cushim_settings &settings() {
    return atomics::load(&current)->settings;
}

const char *path_in_settings(const Library &library) {
    if (&library == &driver_library) {
        return settings().driver_path;
    }
    if (&library == &runtime_library) {
        return settings().runtime_path;
    }
    const char *path = atomics::load(&library.chosen);
    return path != no_path ? path : nullptr;
}

} // namespace cushim

using namespace cushim;

extern "C" cushim_configure_result cushim_configure(const cushim_settings *settings) noexcept {
    if (settings == nullptr || !valid(*settings)) {
        return CUSHIM_CONFIGURE_INVALID;
    }
    Copy *copy = copy_of(*settings, false);
    if (copy == nullptr) {
        return CUSHIM_CONFIGURE_NO_MEMORY;
    }
    if (publish(copy)) {
        return CUSHIM_CONFIGURE_OK;
    }
    free(copy);
    return CUSHIM_CONFIGURE_TOO_LATE;
}

extern "C" cushim_configure_result cushim_choose_library(cushim_library number,
                                                         const char *path) noexcept {
    Library *library = library_numbered(number);
    if (library == nullptr || library->special != nullptr || path == nullptr || *path == '\0' ||
        length_of(path) > longest_path) {
        return CUSHIM_CONFIGURE_INVALID;
    }
    char *copy = copy_text(path);
    if (copy == nullptr) {
        return CUSHIM_CONFIGURE_NO_MEMORY;
    }
    if (choose(*library, copy)) {
        return CUSHIM_CONFIGURE_OK;
    }
    free(copy);
    return CUSHIM_CONFIGURE_TOO_LATE;
}
