/* Loading the CUDA libraries, for C++ programs: load them, report what was found and why, configure
 * the search.
 *
 * Nothing here has to be called: the first call of any table function loads what it needs. The C
 * interface, loader.h, is the same loader. No function throws, prints, aborts, calls cuInit, or
 * unloads a library in use.
 *
 * Search for the driver, on Linux:
 * 1. CUSHIM_DRIVER, or the path in the settings: if one is set, nothing else is tried
 * 2. a copy that the process has already loaded
 * 3. libcuda.so.1 by the system's default search
 * 4. the folders of WSL, NixOS, containers and Jetson
 * On Windows: nvcuda.dll from the system folder. The toolkit's link stub is skipped.
 *
 * Search for the runtime:
 * 1. CUSHIM_RUNTIME, or the path in the settings: if one is set, nothing else is tried
 * 2. if the driver was chosen by path: only beside it
 * 3. a copy that the process has already loaded
 * 4. libcudart of exactly the headers' major version, by default search
 * 5. CUDA_PATH, CUDA_HOME, /usr/local/cuda*, CONDA_PREFIX, the active Python environment
 *
 * Search for a further library, such as NVML: in the same way, by its variable (CUSHIM_NVML) and
 * the places of its description. src/loader/README.md has the order.
 *
 * With CUSHIM_DISABLE=1, or any other value except 0 and "", the loader behaves as if no CUDA were
 * installed. On POSIX systems, a process with elevated rights ignores all of these variables.
 *
 * Threads: any, at any time.
 */
#ifndef CUSHIM_LOADER_HPP
#define CUSHIM_LOADER_HPP

#include <cushim/loader.h>
#include <cushim/result.hpp>
#include <cushim/version.hpp>

namespace cushim {

// The result of the search for one library: see loader.h.
using LibraryReport = cushim_report;

/* The report of each library; both live until the process ends. */
struct LoadReport {
    const LibraryReport &driver;  // libcuda.so.1, nvcuda.dll
    const LibraryReport &runtime; // libcudart
};

/* What was found so far. Loads nothing: the state of a library that was not needed yet is
 * CUSHIM_STATE_NOT_TRIED. */
CUSHIM_LOCAL inline LoadReport load_report() noexcept {
    return {*cushim_load_report(CUSHIM_LIBRARY_DRIVER),
            *cushim_load_report(CUSHIM_LIBRARY_RUNTIME)};
}

/* Load a library if that was not tried before. load_runtime() fails without a driver, because a
 * libcudart alone is useless.
 * Errors: library_not_found, stub_library; the message explains to the user of the program why the
 * library is absent. */
CUSHIM_API Result<void> load_driver() noexcept;
CUSHIM_API Result<void> load_runtime() noexcept;

/* The same for any library by its number: load(cushim_nvml_library()). Further libraries need no
 * driver. */
CUSHIM_API Result<void> load(cushim_library library) noexcept;

/* What was found so far of any library. Loads nothing. */
CUSHIM_LOCAL inline const LibraryReport &report(cushim_library library) noexcept {
    return *cushim_load_report(library);
}

/* Searches again for the libraries that were absent, with the environment as it is now. */
CUSHIM_LOCAL inline LoadReport reload() noexcept {
    cushim_reload(CUSHIM_LIBRARY_RUNTIME);
    return load_report();
}

/* The newest CUDA version that the installed driver supports; unknown without a driver. Loads. */
CUSHIM_LOCAL inline Version driver_version() noexcept {
    return Version(cushim_library_version(CUSHIM_LIBRARY_DRIVER));
}

/* The version of the CUDA runtime library, even if it is not used for lack of a driver; unknown
 * without one. Loads. */
CUSHIM_LOCAL inline Version runtime_version() noexcept {
    return Version(cushim_library_version(CUSHIM_LIBRARY_RUNTIME));
}

/* The version of the CUDA headers that the tables were generated from. */
CUSHIM_LOCAL inline Version headers_version() noexcept {
    return Version(cushim_headers_version());
}

/* Where to search. Null paths: search. */
struct Settings {
    const char *driver_path = nullptr;  // load exactly this driver, unless CUSHIM_DRIVER is set
    const char *runtime_path = nullptr; // the same, unless CUSHIM_RUNTIME is set
    bool environment = true;            // use CUSHIM_*, CUDA_PATH, CUDA_HOME, ...
    bool already_loaded = true;         // use a copy that the process has already loaded
    bool system_search = true;          // the system's default search by file name
    bool known_places = true;           // the usual folders of drivers and toolkits
};

/* Replaces the settings; copies the paths. invalid_argument after the first search, which is the
 * first call of a table function, and for paths over 3,999 bytes. */
CUSHIM_API Result<void> configure(const Settings &settings) noexcept;

/* Resolves every entry point of both libraries now, so that later calls have no first-use cost.
 * Returns the number resolved; those that a library lacks keep returning their status. A program
 * that calls it links the rows of all entry points. */
CUSHIM_LOCAL inline size_t resolve_all() noexcept {
    return cushim_resolve_all(CUSHIM_LIBRARY_DRIVER) + cushim_resolve_all(CUSHIM_LIBRARY_RUNTIME);
}

} // namespace cushim

#endif
