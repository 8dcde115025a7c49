/* Paths on the heap, which the caller frees: threads that call CUDA first may have small stacks. */
#pragma once

#include <string.h>

#include "platform/platform.h"
#include "text.h"

/* A file or folder inside a folder; NULL if out of memory or without a folder. */
static inline char *cushim_path_in(const char *folder, const char *name) {
    if (folder == NULL || *folder == '\0') {
        return NULL;
    }
    const bool separated = cushim_platform_is_separator(folder[strlen(folder) - 1]);
    return CUSHIM_JOIN(folder, separated ? "" : "/", name);
}

/* The start of the file name in a path. */
static inline const char *cushim_file_name_in(const char *path) {
    const char *name = path;
    for (; *path != '\0'; ++path) {
        if (cushim_platform_is_separator(*path)) {
            name = path + 1;
        }
    }
    return name;
}

/* Whether a path contains a folder; otherwise the system's search determines it. */
static inline bool cushim_has_folder(const char *path) {
    return cushim_file_name_in(path) != path;
}
