// Whether a program or library still needs a CUDA library when it starts, and through whom.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "binary.hpp"
#include "cuda_names.hpp"
#include "library_search.hpp"

namespace cushim_info {

// A CUDA library, and the way to it: the audited file first, the library last.
struct Chain {
    std::vector<std::string> names;
    LibraryKind kind = LibraryKind::other;
    bool is_used = true; // ELF: whether who links it names any function of that kind

    const std::string &library() const { return names.back(); }
    const std::string &linked_by() const { return names[names.size() - 2]; }
    bool is_direct() const { return names.size() == 2; }
};

// Functions of CUDA's that a file uses, by where they are expected.
struct Use {
    std::string file;
    std::string library;      // "": nothing that is loaded with the audited file defines them
    bool at_start = false;    // at least one of them must be there at start-up
    bool is_optional = false; // weak, all of them
    std::vector<std::string> functions;
};

// A part of cushim in one of the files.
struct Part {
    std::string file;
    std::string cushim; // "0.1.0"
    int headers = 0;    // CUDA_VERSION of the headers it was built with
    bool has_dropin = false;
};

struct NotFound {
    std::string library;
    std::string needed_by;
    std::string problem; // of a file that could not be read; "" if there is none
};

struct Audit {
    std::string path;
    std::string problem; // why the file could not be audited; everything else is empty then
    Architecture architecture;
    bool is_program = false;
    bool needs_cuda = false;      // at start-up
    std::vector<Chain> needed;    // CUDA libraries that are loaded at start-up
    std::vector<Chain> delayed;   // CUDA libraries that are loaded when they are first called
    std::vector<Use> uses;        // in the file and its libraries, those of CUDA left out
    std::vector<Part> parts;      // of cushim
    std::vector<std::string> own; // CUDA functions that the file defines without the drop-in
    std::string static_runtime;   // what speaks for a static libcudart in the file; "" if nothing
    std::vector<NotFound>
        not_found; // needed libraries other than CUDA's: what they need is unknown
    std::vector<std::string> of_windows; // DLLs of Windows' own, which are not looked into
    std::vector<std::string> advice;
};

Audit audit_file(const std::filesystem::path &file, const LibrarySearch &search);

// 0: all of them start without CUDA, 1: one needs it, 2: one could not be audited.
int exit_status(const std::vector<Audit> &audits);

// What to do about it, a paragraph each.
std::vector<std::string> advice_for(const Audit &audit);

// "cuInit, cuMemAlloc_v2", and of a longer list how many more there are.
std::string functions_text(const std::vector<std::string> &functions);

// For a person.
std::string audits_as_text(const std::vector<Audit> &audits);

// One object; `cushim` is this program's own version.
std::string audits_as_json(const std::vector<Audit> &audits, const std::string &cushim);

} // namespace cushim_info
