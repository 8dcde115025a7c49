#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { longest_path = 4000 };

/* Copied settings, followed by their strings in the same block. */
typedef struct Copy Copy;
struct Copy {
    cushim_settings settings;
    Copy *previous; // replaced copies are never freed, since threads may still read them
    bool frozen;    // no further replacement is possible
};

static Copy defaults = {.settings.search = CUSHIM_SEARCH_EVERYWHERE};
static Copy frozen_defaults = {.settings.search = CUSHIM_SEARCH_EVERYWHERE, .frozen = true};
static Copy *in_effect = &defaults;

static size_t size_of(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

static const char *append_text(char **end, const char *text) {
    if (text == NULL || *text == '\0') {
        return NULL;
    }
    const size_t size = size_of(text);
    char *copy = *end;
    memcpy(copy, text, size);
    *end += size;
    return copy;
}

static Copy *copy_of(const cushim_settings *from, bool frozen) {
    const size_t strings = size_of(from->driver_path) + size_of(from->runtime_path);
    Copy *copy = malloc(sizeof(Copy) + strings);
    if (copy == NULL) {
        return NULL;
    }
    char *end = (char *)(copy + 1);
    copy->settings.driver_path = append_text(&end, from->driver_path);
    copy->settings.runtime_path = append_text(&end, from->runtime_path);
    copy->settings.search = from->search;
    copy->frozen = frozen;
    return copy;
}

static bool is_valid(const cushim_settings *settings) {
    return (settings->search & ~(unsigned int)CUSHIM_SEARCH_EVERYWHERE) == 0 &&
           size_of(settings->driver_path) <= longest_path &&
           size_of(settings->runtime_path) <= longest_path;
}

/* Replaces the current settings with `next`, unless they are frozen. */
static bool publish(Copy *next) {
    Copy *before = CUSHIM_LOAD(&in_effect);
    do {
        if (before->frozen) {
            return false;
        }
        next->previous = before;
    } while (!CUSHIM_REPLACE(&in_effect, &before, next));
    return true;
}

/* Marks a further library that was searched for before a path was chosen. */
static const char no_path[] = "";

/* Stores the path of a further library; false if it already has one, or `no_path`. */
static bool choose(Library *library, const char *path) {
    const char *before = NULL;
    return CUSHIM_REPLACE(&library->chosen, &before, path);
}

static void freeze_all_libraries(void) {
    Copy *before = CUSHIM_LOAD(&in_effect);
    while (!before->frozen) {
        Copy *frozen = before == &defaults ? &frozen_defaults : copy_of(&before->settings, true);
        if (frozen == NULL) {
            return; // out of memory: a later search tries again
        }
        if (frozen != &frozen_defaults) {
            frozen->previous = before;
        }
        if (CUSHIM_REPLACE(&in_effect, &before, frozen)) {
            return;
        }
        if (frozen != &frozen_defaults) {
            free(frozen);
        }
    }
}

void cushim_freeze_settings(Library *library) {
    freeze_all_libraries();
    choose(library, no_path);
}

const cushim_settings *cushim_current_settings(void) {
    return &CUSHIM_LOAD(&in_effect)->settings;
}

bool cushim_looks_in(unsigned int place) {
    return (cushim_current_settings()->search & place) != 0;
}

const char *cushim_variable(const char *name) {
    return cushim_looks_in(CUSHIM_SEARCH_ENVIRONMENT) ? cushim_platform_environment(name) : NULL;
}

static const char *path_in_settings(const Library *library) {
    switch (cushim_kind_of(library)) {
    case KIND_DRIVER:
        return cushim_current_settings()->driver_path;
    case KIND_RUNTIME:
        return cushim_current_settings()->runtime_path;
    case KIND_FURTHER:
        break;
    }
    const char *path = CUSHIM_LOAD(&library->chosen);
    return path != no_path ? path : NULL;
}

const char *cushim_chosen_path(const Library *library) {
    const char *path = cushim_variable(library->description->variable);
    return path != NULL ? path : path_in_settings(library);
}

bool cushim_may_be_beside_driver(const Library *library) {
    return (library->description->places & CUSHIM_PLACE_BESIDE_DRIVER) != 0 &&
           cushim_file_name_of(library)[0] != '\0' && cushim_chosen_path(library) == NULL;
}

cushim_configure_result cushim_configure(const cushim_settings *settings) {
    if (settings == NULL || !is_valid(settings)) {
        return CUSHIM_CONFIGURE_INVALID;
    }
    Copy *copy = copy_of(settings, false);
    if (copy == NULL) {
        return CUSHIM_CONFIGURE_NO_MEMORY;
    }
    if (publish(copy)) {
        return CUSHIM_CONFIGURE_OK;
    }
    free(copy);
    return CUSHIM_CONFIGURE_TOO_LATE;
}

cushim_configure_result cushim_choose_library(cushim_library number, const char *path) {
    Library *library = cushim_library_numbered(number);
    if (library == NULL || cushim_kind_of(library) != KIND_FURTHER || path == NULL ||
        *path == '\0' || size_of(path) > longest_path) {
        return CUSHIM_CONFIGURE_INVALID;
    }
    char *copy = cushim_copy_text(path);
    if (copy == NULL) {
        return CUSHIM_CONFIGURE_NO_MEMORY;
    }
    if (choose(library, copy)) {
        return CUSHIM_CONFIGURE_OK;
    }
    free(copy);
    return CUSHIM_CONFIGURE_TOO_LATE;
}
