// Whether a program or library still needs a CUDA library at start-up, and which of its libraries
// links it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "binary.hpp"
#include "cuda_names.hpp"
#include "library_search.hpp"

namespace cushim_info {

// A CUDA library and the path to it: the audited file first, the library last.
struct Chain {
    std::vector<std::string> names;
    LibraryKind kind = LibraryKind::other;
    bool is_used = true; // ELF: whether the file that links it uses a function of that kind

    const std::string &library() const { return names.back(); }
    const std::string &linked_by() const { return names[names.size() - 2]; }
    bool is_direct() const { return names.size() == 2; }
};

// CUDA functions that a file uses, by the library that should define them.
struct Use {
    std::string file;
    std::string library;      // "": no file loaded with the audited file defines them
    bool at_start = false;    // at least one is required at start-up
    bool is_optional = false; // all are weak
    std::vector<std::string> functions;
};

// A part of cushim in one of the files.
struct Part {
    std::string file;
    std::string cushim; // "0.1.0"
    int headers = 0;    // CUDA_VERSION of its headers
    bool has_dropin = false;
    std::vector<std::string> libraries; // "nvml": further libraries whose drop-in it contains
};

struct NotFound {
    std::string library;
    std::string needed_by;
    std::string problem; // why the file could not be read; "" if it was
};

struct Audit {
    std::string path;
    std::string problem; // why the file could not be audited; all else is then empty
    Architecture architecture;
    bool is_program = false;
    bool needs_cuda = false;         // at start-up
    std::vector<Chain> needed;       // CUDA libraries that are loaded at start-up
    std::vector<Chain> delayed;      // CUDA libraries that are loaded on the first call
    std::vector<Use> uses;           // by the file and its libraries, except CUDA's
    std::vector<Part> parts;         // parts of cushim
    std::vector<std::string> own;    // CUDA functions that the file defines without the drop-in
    std::string static_runtime;      // signs of a static libcudart in the file; "" if none
    std::vector<NotFound> not_found; // needed libraries other than CUDA's, whose needs are unknown
    std::vector<std::string> of_windows; // DLLs of Windows, which are not examined
    std::vector<std::string> advice;
};

Audit audit_file(const std::filesystem::path &file, const LibrarySearch &search);

// 0: all of them start without CUDA, 1: one needs it, 2: one could not be audited.
int exit_status(const std::vector<Audit> &audits);

// Advice on the result, a paragraph each.
std::vector<std::string> advice_for(const Audit &audit);

// "cuInit, cuMemAlloc_v2"; for a longer list, the number of the others.
std::string functions_text(const std::vector<std::string> &functions);

// As text.
std::string audits_as_text(const std::vector<Audit> &audits);

// One JSON object; `cushim` is the version of this program.
std::string audits_as_json(const std::vector<Audit> &audits, const std::string &cushim);

} // namespace cushim_info
