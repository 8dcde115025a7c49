/* Checks of an ELF file without loading it. The dynamic linker trusts a library's headers, so
 * loading a damaged library would crash the process. */
#if !defined(_WIN32)

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "platform.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__LP64__)
typedef Elf64_Ehdr Header;
typedef Elf64_Phdr Segment;
typedef Elf64_Dyn Dynamic;
static const unsigned char own_class = ELFCLASS64;
#else
typedef Elf32_Ehdr Header;
typedef Elf32_Phdr Segment;
typedef Elf32_Dyn Dynamic;
static const unsigned char own_class = ELFCLASS32;
#endif

#if defined(__x86_64__)
static const int own_machine = EM_X86_64;
#elif defined(__aarch64__)
static const int own_machine = EM_AARCH64;
#else
static const int own_machine = -1; // not checked; the system's message has to suffice
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const unsigned char own_order = ELFDATA2LSB;
#else
static const unsigned char own_order = ELFDATA2MSB;
#endif

/* An open file, its size, and its first bytes, which contain the segment table in every library
 * that current linkers create. */
typedef struct {
    int descriptor;
    unsigned long long size;
    char start[1024];
    size_t start_size;
} File;

static bool read_part(const File *file, void *into, size_t length, unsigned long long at) {
    if (at > file->size || length > file->size - at) {
        return false;
    }
    if (at + length <= file->start_size) {
        memcpy(into, file->start + at, length);
        return true;
    }
    return pread(file->descriptor, into, length, (off_t)at) == (ssize_t)length;
}

/* Whether the dynamic section refers to its tables of symbols and names. In a file with a gap from
 * an incomplete download, it is all zeros. */
static bool dynamic_section_is_there(const File *file, const Segment *segment) {
    Dynamic entries[64]; // NVIDIA's libraries have about 30
    const size_t length = segment->p_filesz < sizeof entries ? segment->p_filesz : sizeof entries;
    if (!read_part(file, entries, length, segment->p_offset)) {
        return false;
    }
    bool symbols = false, names = false;
    const size_t count = length / sizeof *entries;
    size_t i = 0;
    for (; i < count && entries[i].d_tag != DT_NULL; ++i) {
        symbols = symbols || entries[i].d_tag == DT_SYMTAB;
        names = names || entries[i].d_tag == DT_STRTAB;
    }
    const bool goes_on = i == count && length < segment->p_filesz; // unknown, and no sign of damage
    return (symbols && names) || goes_on;
}

/* Whether the file contains everything that its header describes. Touching a mapped page beyond the
 * end of a file raises SIGBUS. */
static bool segments_are_there(const File *file, const Header *header) {
    for (unsigned int i = 0; i < header->e_phnum; ++i) {
        Segment segment;
        if (!read_part(file, &segment, sizeof segment,
                       header->e_phoff + (unsigned long long)i * header->e_phentsize)) {
            return false;
        }
        if (segment.p_type == PT_LOAD &&
            (segment.p_offset > file->size || segment.p_filesz > file->size - segment.p_offset)) {
            return false;
        }
        if (segment.p_type == PT_DYNAMIC && !dynamic_section_is_there(file, &segment)) {
            return false;
        }
    }
    return true;
}

static FileKind inspect_elf(const File *file, Text *detail) {
    if (file->size == 0) {
        snprintf(detail->chars, sizeof detail->chars, "the file is empty");
        return CUSHIM_FILE_EMPTY;
    }
    if (file->start_size < SELFMAG || memcmp(file->start, ELFMAG, SELFMAG) != 0) {
        snprintf(detail->chars, sizeof detail->chars, "not a shared library (no ELF header)");
        return CUSHIM_FILE_NOT_A_LIBRARY;
    }
    Header header;
    if (!read_part(file, &header, sizeof header, 0)) {
        snprintf(detail->chars, sizeof detail->chars, "the file ends inside its header");
        return CUSHIM_FILE_TRUNCATED;
    }
    if (header.e_ident[EI_CLASS] != own_class || header.e_ident[EI_DATA] != own_order ||
        (own_machine >= 0 && header.e_machine != own_machine)) {
        snprintf(detail->chars, sizeof detail->chars,
                 "built for another architecture (ELF machine %u, %s bit)",
                 (unsigned int)header.e_machine,
                 header.e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32");
        return CUSHIM_FILE_WRONG_ARCHITECTURE;
    }
    if (!segments_are_there(file, &header)) {
        snprintf(
            detail->chars, sizeof detail->chars,
            "the file is truncated or damaged: its %llu bytes are fewer than its header describes",
            file->size);
        return CUSHIM_FILE_TRUNCATED;
    }
    return CUSHIM_FILE_LIBRARY;
}

static FileKind inspect_regular(int descriptor, off_t size, Text *detail) {
    File file;
    file.descriptor = descriptor;
    const ssize_t got = pread(descriptor, file.start, sizeof file.start, 0);
    file.start_size = got > 0 ? (size_t)got : 0;
    file.size = size > 0 ? (unsigned long long)size : 0;
    return inspect_elf(&file, detail);
}

FileKind cushim_platform_inspect_file(const char *path, Text *detail) {
    detail->chars[0] = '\0';
    // O_NONBLOCK, so that opening a named pipe does not wait for a writer.
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        if (errno == ENOENT || errno == ENOTDIR) {
            snprintf(detail->chars, sizeof detail->chars, "no such file");
            return CUSHIM_FILE_MISSING;
        }
        snprintf(detail->chars, sizeof detail->chars, "%s", strerror(errno));
        return errno == EACCES                      ? CUSHIM_FILE_UNREADABLE
               : errno == EMFILE || errno == ENFILE ? CUSHIM_FILE_NO_DESCRIPTOR
                                                    : CUSHIM_FILE_NOT_A_LIBRARY;
    }
    struct stat status;
    FileKind kind = CUSHIM_FILE_NOT_A_LIBRARY;
    if (fstat(file, &status) != 0) {
        snprintf(detail->chars, sizeof detail->chars, "%s", strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        snprintf(detail->chars, sizeof detail->chars, "a folder, not a library");
        kind = CUSHIM_FILE_FOLDER;
    } else if (!S_ISREG(status.st_mode)) {
        snprintf(detail->chars, sizeof detail->chars, "not a regular file");
    } else {
        kind = inspect_regular(file, status.st_size, detail);
    }
    close(file);
    return kind;
}

#else
#include "platform.h" // C requires a declaration
#endif
