// Simulates machines for the loader's tests: folders with good and bad libraries.
//
// The loader decides once in a process, so every test case of this folder runs in its own process;
// meson.build lists them. The machine is set up before the first use.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cushim/loader.hpp>
#include <cushim/override.hpp>
#include <cushim/table.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "contains.hpp"
#include "fake_library.hpp"

namespace support {

// A folder that exists during the lifetime of this object.
class Folder {
  public:
    Folder() {
        for (int i = 0;; ++i) {
            path_ = std::filesystem::temp_directory_path() /
                    ("cushim-loader-test-" + std::to_string(i));
            if (std::filesystem::create_directory(path_)) {
                return;
            }
        }
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    ~Folder() {
        std::error_code ignored; // Windows keeps a loaded library's file
        std::filesystem::remove_all(path_, ignored);
    }

    std::string operator/(const std::string &name) const { return (path_ / name).string(); }
    std::string path() const { return path_.string(); }

    // Copies a file into the folder, creating folders on the way; returns the new path.
    std::string copy(const std::string &file, const std::string &name) const {
        const auto target = path_ / name;
        std::filesystem::create_directories(target.parent_path());
        std::filesystem::copy_file(file, target, std::filesystem::copy_options::overwrite_existing);
        return target.string();
    }

    std::string write(const std::string &name, const std::string &bytes) const {
        std::ofstream(path_ / name, std::ios::binary) << bytes;
        return (path_ / name).string();
    }

  private:
    std::filesystem::path path_;
};

inline std::string bytes_of(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// The offset of the machine in the headers of this system's libraries.
inline size_t machine_offset(const std::string &library) {
    return library.compare(0, 4,
                           "\x7f"
                           "ELF") == 0
               ? 18
               : static_cast<unsigned char>(library[60]) +
                     256U * static_cast<unsigned char>(library[61]) + 4;
}

// The fakes, from the environment that meson.build sets.
inline std::string good_driver() {
    return required_variable("FAKE_DRIVER_GOOD");
}
inline std::string good_runtime() {
    return required_variable("FAKE_RUNTIME_GOOD");
}
inline std::string runtime_file_name() {
    return std::filesystem::path(good_runtime()).filename().string();
}
inline std::string driver_file_name() {
    return std::filesystem::path(good_driver()).filename().string();
}

// The folder of the runtime in a toolkit.
#if defined(_WIN32)
inline const std::string toolkit_folder = "bin/";
#else
inline const std::string toolkit_folder = "lib64/";
#endif

inline const cushim_report &driver_report() {
    return cushim::load_report().driver;
}
inline const cushim_report &runtime_report() {
    return cushim::load_report().runtime;
}

// The outcome of the candidate with this path; -1 if the search did not try it.
inline int outcome_of(const cushim_report &report, const std::string &path) {
    for (size_t i = 0; i < report.candidate_count; ++i) {
        if (report.candidates[i].path == path) {
            return report.candidates[i].outcome;
        }
    }
    return -1;
}

// Disables all searches that depend on the machine.
inline void find_nothing() {
    REQUIRE(cushim::configure(
        {.already_loaded = false, .system_search = false, .known_places = false}));
}

inline void check_loaded_from(const cushim_report &report, const std::string &file) {
    CHECK(report.state == CUSHIM_STATE_LOADED);
    REQUIRE(report.path != nullptr);
    CHECK(std::filesystem::equivalent(report.path, file));
}

} // namespace support
