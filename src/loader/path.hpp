/* A path on the heap, owned by this object. Threads that call CUDA first may have small stacks. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "platform/platform.hpp"
#include "text.hpp"

namespace cushim {

struct Path {
    char *chars; // nullptr if out of memory

    explicit Path(char *owned) : chars(owned) {}

    /* A file or folder inside a folder. */
    Path(const char *folder, const char *name) : chars(joined(folder, name)) {}

    Path(const Path &) = delete;
    Path &operator=(const Path &) = delete;
    ~Path() { free(chars); }

    explicit operator bool() const { return chars != nullptr && *chars != '\0'; }

  private:
    static char *joined(const char *folder, const char *name) {
        if (folder == nullptr) {
            return nullptr;
        }
        const size_t length = strlen(folder);
        const bool separated = length > 0 && platform::is_separator(folder[length - 1]);
        return join_text({folder, separated ? "" : "/", name});
    }
};

/* Whether a path contains a folder; otherwise the system's search determines it. */
inline bool has_folder(const char *path) {
    for (; *path != '\0'; ++path) {
        if (platform::is_separator(*path)) {
            return true;
        }
    }
    return false;
}

} // namespace cushim
