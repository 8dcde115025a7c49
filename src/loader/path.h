/* The file name and the folder of a path. */
#pragma once

#include <string.h>

#include "platform/platform.h"
#include "text.h"

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
