/* Loading the CUDA libraries, for C++ programs: load them, ask what was found and why, choose where
 * to look.
 *
 * Nothing here has to be called: the first call of any table function loads what it needs. The
 * C interface in loader.h is the same loader; what these functions say of threads and ownership
 * there holds here too. Never throws, prints, aborts, calls cuInit, or unloads a
 * library in use.
 *
 * How the driver is searched for on Linux: the path in CUSHIM_DRIVER, or one that the program chose
 * in its settings, and then nothing else; a copy that the process has loaded already; libcuda.so.1
 * by the system's default search; the places where WSL, NixOS, containers and Jetson keep it. On
 * Windows: nvcuda.dll from the system folder. The toolkit's link stub is recognised and skipped.
 *
 * How the runtime is searched for: CUSHIM_RUNTIME or the settings; beside a driver that was chosen
 * by path, and then nowhere else; a copy loaded already; libcudart of exactly the headers' major
 * version by default search; CUDA_PATH, CUDA_HOME, /usr/local/cuda*, CONDA_PREFIX, and the packages
 * of an active Python environment.
 *
 * CUSHIM_DISABLE=1 behaves as if there were no CUDA. On POSIX systems, a process with elevated
 * rights ignores all of these variables.
 */
#ifndef CUSHIM_LOADER_HPP
#define CUSHIM_LOADER_HPP

#include <cushim/loader.h>
#include <cushim/result.hpp>
#include <cushim/version.hpp>

namespace cushim {

using LibraryReport = cushim_report;

/* What became of each library; both live until the process ends. */
struct LoadReport {
    const LibraryReport &driver;
    const LibraryReport &runtime;
};

/* How it stands now. Loads nothing: a library that was not needed yet is CUSHIM_STATE_NOT_TRIED. */
CUSHIM_LOCAL inline LoadReport load_report() noexcept {
    return {*cushim_load_report(CUSHIM_LIBRARY_DRIVER),
            *cushim_load_report(CUSHIM_LIBRARY_RUNTIME)};
}

/* Loads a library now, if that was not tried before. The error says why there is none
 * (library_not_found, stub_library), in a sentence for the user of the program. Without a driver
 * load_runtime() fails, too: a libcudart alone is of no use. */
CUSHIM_API Result<void> load_driver() noexcept;
CUSHIM_API Result<void> load_runtime() noexcept;

/* Searches again for the libraries that were absent, with the environment as it is now. */
CUSHIM_LOCAL inline LoadReport reload() noexcept {
    cushim_reload(CUSHIM_LIBRARY_RUNTIME);
    return load_report();
}

/* The newest CUDA version that the installed driver supports; unknown without a driver. Loads. */
CUSHIM_LOCAL inline Version driver_version() noexcept {
    return Version(cushim_library_version(CUSHIM_LIBRARY_DRIVER));
}

/* The version of the CUDA runtime library; unknown without one. Loads. */
CUSHIM_LOCAL inline Version runtime_version() noexcept {
    return Version(cushim_library_version(CUSHIM_LIBRARY_RUNTIME));
}

/* The version of the CUDA headers that the tables were generated from. */
CUSHIM_LOCAL inline Version headers_version() noexcept {
    return Version(cushim_headers_version());
}

/* Where to look. Paths may be null: search. */
struct Settings {
    const char *driver_path = nullptr;  // load exactly this driver, unless CUSHIM_DRIVER is set
    const char *runtime_path = nullptr; // likewise, CUSHIM_RUNTIME
    bool environment = true;            // heed CUSHIM_*, CUDA_PATH, CUDA_HOME, ...
    bool already_loaded = true;         // take a copy that the process has loaded before
    bool system_search = true;          // the system's default search by file name
    bool known_places = true;           // folders where drivers and toolkits are known to be
};

/* Replaces the settings; copies the paths. Only before the first search, that is, before the first
 * call of a table function: invalid_argument after it, and for paths over 4,000 bytes. */
CUSHIM_API Result<void> configure(const Settings &settings) noexcept;

/* Resolves every entry point of both libraries now, so that no later call pays for its first use;
 * returns how many were resolved. Names that a library lacks stay as they are. Links all rows. */
CUSHIM_LOCAL inline size_t resolve_all() noexcept {
    return cushim_resolve_all(CUSHIM_LIBRARY_DRIVER) + cushim_resolve_all(CUSHIM_LIBRARY_RUNTIME);
}

} // namespace cushim

#endif
