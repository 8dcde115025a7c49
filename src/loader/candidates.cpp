#include "candidates.hpp"

#include <stdlib.h>
#include <string.h>

namespace cushim {

char *copy_text(const char *text) {
    const size_t length = strlen(text) + 1;
    char *copy = static_cast<char *>(malloc(length));
    return copy != nullptr ? static_cast<char *>(memcpy(copy, text, length)) : nullptr;
}

void Candidates::add(const char *path, cushim_outcome outcome, const char *detail) {
    if (count == capacity) {
        const size_t more = capacity == 0 ? 8 : capacity * 2;
        void *grown = realloc(list, more * sizeof *list);
        if (grown == nullptr) {
            return;
        }
        list = static_cast<cushim_candidate *>(grown);
        capacity = more;
    }
    char *own_path = copy_text(path);
    char *own_detail = copy_text(detail);
    if (own_path == nullptr || own_detail == nullptr) {
        free(own_path);
        free(own_detail);
        return;
    }
    list[count++] = {own_path, outcome, own_detail};
}

bool Candidates::has(const char *path) const {
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(list[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

void Candidates::free_all() {
    for (size_t i = 0; i < count; ++i) {
        free(const_cast<char *>(list[i].path));
        free(const_cast<char *>(list[i].detail));
    }
    free(list);
    list = nullptr;
    count = capacity = 0;
}

} // namespace cushim
