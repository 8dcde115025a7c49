/* Where the dynamic linker searches for a library. It loads the first file that it finds, even a
 * damaged one, so the loader looks at these files before. */
#if !defined(_WIN32)

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "platform.h"

#include <stdlib.h> // defines __GLIBC__

#if defined(__GLIBC__)

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* One search: the file name, and the caller's function. */
typedef struct {
    const char *name;
    bool (*visit)(const char *path, FoundPlace place, void *user);
    void *user;
} FileVisit;

/* A path in a folder, on the heap; NULL if out of memory. */
static char *join(const char *folder, const char *name) {
    char *path = malloc(strlen(folder) + 1 + strlen(name) + 1);
    if (path != NULL) {
        stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
    }
    return path;
}

static bool visit_in(const FileVisit *all, const char *folder, FoundPlace place) {
    char *path = join(folder, all->name);
    const bool done = path != NULL && all->visit(path, place, all->user);
    free(path);
    return done;
}

/* Visits the file in each subfolder of `folder`, an open descriptor, and closes it. */
static bool visit_listed(const FileVisit *all, const char *parent, int folder) {
    DIR *listing = fdopendir(folder);
    if (listing == NULL) {
        close(folder);
        return false;
    }
    bool done = false;
    const struct dirent *entry;
    while (!done && (entry = readdir(listing)) != NULL) {
        char *variant = entry->d_name[0] != '.' ? join(parent, entry->d_name) : NULL;
        done = variant != NULL && visit_in(all, variant, CUSHIM_FOUND_VARIANT);
        free(variant);
    }
    closedir(listing);
    return done;
}

/* <folder>/glibc-hwcaps/x86-64-v3, ... Few folders have any. */
static bool visit_variants(const FileVisit *all, const char *folder) {
    char *parent = join(folder, "glibc-hwcaps");
    const int opened =
        parent != NULL ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK) : -1;
    const bool done = opened >= 0 && visit_listed(all, parent, opened);
    free(parent);
    return done;
}

static bool is_system_folder(const char *folder) {
    return strncmp(folder, "/lib", 4) == 0 || strncmp(folder, "/usr/lib", 8) == 0;
}

/* LD_LIBRARY_PATH at process start, the program's run path, the system's folders. */
static bool visit_folders(const FileVisit *all) {
    bool done = false;
    void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    // Zeros, since MemorySanitizer does not see what dlinfo() writes.
    Dl_serinfo size = {.dls_size = 0};
    if (program == NULL) {
        return false;
    }
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) {
        Dl_serinfo *folders = calloc(1, size.dls_size);
        if (folders != NULL) {
            folders->dls_size = size.dls_size;
            folders->dls_cnt = size.dls_cnt;
        }
        if (folders != NULL && dlinfo(program, RTLD_DI_SERINFO, folders) == 0) {
            for (unsigned int i = 0; i < folders->dls_cnt && !done; ++i) {
                const char *folder = folders->dls_serpath[i].dls_name;
                done = visit_variants(all, folder) ||
                       visit_in(all, folder,
                                is_system_folder(folder) ? CUSHIM_FOUND_LATER : CUSHIM_FOUND_FIRST);
            }
        }
        free(folders);
    }
    dlclose(program);
    return done;
}

/* --- the cache that ldconfig writes, /etc/ld.so.cache --- */

static const char cache_magic[] = "glibc-ld.so.cache1.1"; // glibc 2.2 and newer

typedef struct {
    char magic[sizeof cache_magic - 1];
    uint32_t count, text_size;
    uint32_t unused[5];
} CacheHeader;

typedef struct {
    int32_t flags;
    uint32_t name, path; // offsets from the header
    uint32_t unused;
    uint64_t variant; // 0: for every processor
} CacheEntry;

/* A cache in memory. */
typedef struct {
    const char *start;
    size_t size;
} Cache;

/* The text at an offset; NULL if it does not end inside of the cache. */
static const char *text_at(const Cache *cache, uint32_t offset) {
    return offset < cache->size && memchr(cache->start + offset, 0, cache->size - offset) != NULL
               ? cache->start + offset
               : NULL;
}

/* Up to glibc 2.31, the file begins with a table of an older format. */
static Cache without_older_table(const char *file, size_t size) {
    const char *start = memmem(file, size, cache_magic, sizeof cache_magic - 1);
    return (Cache){
        .start = start,
        .size = start != NULL ? size - (size_t)(start - file) : 0,
    };
}

static bool visit_entries(const FileVisit *all, const Cache *cache) {
    CacheHeader header;
    if (cache->size < sizeof header) {
        return false;
    }
    memcpy(&header, cache->start, sizeof header);
    if (header.count > (cache->size - sizeof header) / sizeof(CacheEntry)) {
        return false;
    }
    bool done = false;
    for (uint32_t i = 0; i < header.count && !done; ++i) {
        CacheEntry entry;
        memcpy(&entry, cache->start + sizeof header + i * sizeof entry, sizeof entry);
        const char *name = text_at(cache, entry.name);
        if (name != NULL && strcmp(name, all->name) == 0) {
            const char *path = text_at(cache, entry.path);
            done = path != NULL &&
                   all->visit(path, entry.variant == 0 ? CUSHIM_FOUND_LATER : CUSHIM_FOUND_VARIANT,
                              all->user);
        }
    }
    return done;
}

static bool visit_cache(const FileVisit *all) {
    const int file = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0) {
        return false;
    }
    bool done = false;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
        const size_t size = (size_t)status.st_size;
        void *start = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (start != MAP_FAILED) {
            const Cache cache = without_older_table(start, size);
            done = visit_entries(all, &cache);
            munmap(start, size);
        }
    }
    close(file);
    return done;
}

bool cushim_platform_visit_system_search(
    const char *name, bool (*visit)(const char *path, FoundPlace place, void *user), void *user) {
    const FileVisit all = {.name = name, .visit = visit, .user = user};
    return visit_folders(&all) || visit_cache(&all);
}

#else
bool cushim_platform_visit_system_search(
    const char *name, bool (*visit)(const char *path, FoundPlace place, void *user), void *user) {
    (void)name, (void)visit, (void)user;
    return false;
}
#endif

#else
#include "platform.h" // C requires a declaration
#endif
