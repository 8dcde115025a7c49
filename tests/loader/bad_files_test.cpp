// CUSHIM_DRIVER names a file that is not a driver: the loader never crashes, never loads another
// library instead, and reports the reason.
#include <catch2/catch_test_macros.hpp>

#ifndef _WIN32
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstring>

#include "machine.hpp"

using namespace support;

namespace {

void expect_absent(const std::string &path, cushim_outcome outcome) {
    set_variable("CUSHIM_DRIVER", path);
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    const cushim_report &report = driver_report();
    CHECK(report.state == CUSHIM_STATE_ABSENT);
    CHECK(report.reason == CUSHIM_REASON_CHOSEN_PATH);
    CHECK(report.path == nullptr);
    REQUIRE(report.candidate_count == 1); // no other file was tried
    CHECK(outcome_of(report, path) == outcome);
    CHECK(std::string(report.candidates[0].detail) != "");
    CHECK(contains(report.explanation, path));
    CHECK(contains(report.hint, "CUSHIM_DRIVER"));
    // The second call returns the same status without another search.
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(&driver_report() == &report);
    const auto failed = cushim::load_driver();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind() == cushim::ErrorKind::library_not_found);
    CHECK(contains(failed.error().message(), path));
}

// A file with these contents.
void expect_bytes_absent(const std::string &bytes, cushim_outcome outcome) {
    const Folder folder;
    expect_absent(folder.write("file", bytes), outcome);
}

// The good library with one changed byte.
void expect_patched_absent(size_t offset, char byte) {
    std::string bytes = bytes_of(good_driver());
    bytes.at(offset) = byte;
    expect_bytes_absent(bytes, CUSHIM_OUTCOME_WRONG_ARCHITECTURE);
}

} // namespace

TEST_CASE("a missing file is reported", "[missing]") {
    const Folder folder;
    expect_absent(folder / "no-such-library", CUSHIM_OUTCOME_NOT_FOUND);
}

TEST_CASE("a folder is rejected", "[folder]") {
    const Folder folder;
    expect_absent(folder.path(), CUSHIM_OUTCOME_NOT_A_LIBRARY);
}

TEST_CASE("an empty file is rejected", "[empty]") {
    expect_bytes_absent("", CUSHIM_OUTCOME_NOT_A_LIBRARY);
}

TEST_CASE("a text file is rejected", "[text]") {
    expect_bytes_absent("This is not a library.\n", CUSHIM_OUTCOME_NOT_A_LIBRARY);
}

TEST_CASE("a truncated library is rejected", "[truncated]") {
    // The end holds only debug information; this cuts into the code.
    expect_bytes_absent(bytes_of(good_driver()).substr(0, 8192), CUSHIM_OUTCOME_TRUNCATED);
}

TEST_CASE("a library truncated inside its header is rejected", "[cut]") {
    expect_bytes_absent(bytes_of(good_driver()).substr(0, 20), CUSHIM_OUTCOME_TRUNCATED);
}

TEST_CASE("a library for another architecture is rejected", "[machine]") {
    expect_patched_absent(machine_offset(bytes_of(good_driver())), '\x08');
}

TEST_CASE("a library without cuInit is rejected", "[nocuinit]") {
    expect_absent(required_variable("FAKE_DRIVER_NOCUINIT"), CUSHIM_OUTCOME_NOT_CUDA);
}

TEST_CASE("a path that is too long for the system is reported", "[long]") {
#if defined(_WIN32)
    const cushim_outcome outcome = CUSHIM_OUTCOME_NOT_FOUND;
#else
    const cushim_outcome outcome = CUSHIM_OUTCOME_NOT_A_LIBRARY;
#endif
    expect_absent("/" + std::string(3900, 'x'), outcome);
}

#if !defined(_WIN32)

// The dynamic linker would copy it to the stack.
TEST_CASE("a file name that is longer than any file's is not searched for", "[long_name]") {
    expect_absent(std::string(256, 'x'), CUSHIM_OUTCOME_REFUSED);
    set_variable("CUSHIM_DRIVER", std::string(9'000'000, 'x'));
    CHECK(cushim::reload().driver.candidates[0].outcome == CUSHIM_OUTCOME_REFUSED);
}

TEST_CASE("a library of the other word size is rejected", "[class]") {
    expect_patched_absent(4, '\x01');
}

TEST_CASE("a named pipe is rejected without waiting for a writer", "[pipe]") {
    const Folder folder;
    const std::string pipe = folder / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    expect_absent(pipe, CUSHIM_OUTCOME_NOT_A_LIBRARY);
}

TEST_CASE("a library with a hole, as after a broken download, is rejected", "[hole]") {
    std::string bytes = bytes_of(good_driver());
    std::fill(bytes.begin() + 4096, bytes.end(), '\0');
    expect_bytes_absent(bytes, CUSHIM_OUTCOME_TRUNCATED);
}

TEST_CASE("the hint about an incomplete file is to install its package again", "[empty_hint]") {
    expect_bytes_absent("", CUSHIM_OUTCOME_NOT_A_LIBRARY);
    CHECK(contains(driver_report().hint, "install its package again; or correct the path"));
}

TEST_CASE("the hint about an unreadable file is to permit reading", "[unreadable]") {
    const Folder folder;
    const std::string file = folder.copy(good_driver(), "driver");
    REQUIRE(chmod(file.c_str(), 0) == 0);
    const bool is_root = geteuid() == 0;
    REQUIRE((!is_root || seteuid(65534) == 0)); // root may read all files
    expect_absent(file, CUSHIM_OUTCOME_NOT_A_LIBRARY);
    CHECK(contains(driver_report().hint, "give this user permission to read the file"));
    REQUIRE((!is_root || seteuid(0) == 0));
}

TEST_CASE("the hint without a free file descriptor is about open files", "[no_descriptor]") {
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit none{0, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    expect_absent(good_driver(), CUSHIM_OUTCOME_NOT_A_LIBRARY);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(contains(driver_report().hint, "too many open files"));
}

TEST_CASE("the hint about a file that lacks a library is to install that", "[dependency]") {
    std::string bytes = bytes_of(good_driver());
    const size_t needed = bytes.find("libc.so.6");
    if (needed == bytes.npos) {
        SKIP("the fake driver needs no libc.so.6");
    }
    bytes.replace(needed, std::strlen("libc"), "libQ");
    expect_bytes_absent(bytes, CUSHIM_OUTCOME_REFUSED);
    CHECK(contains(driver_report().explanation, "libQ.so.6"));
    CHECK(contains(driver_report().hint, "install the library that it needs"));
}

TEST_CASE("a library with invalid program headers is rejected", "[garbage]") {
    std::string bytes = bytes_of(good_driver());
    bytes.replace(64, 512, std::string(512, '\xff')); // the program headers
    expect_bytes_absent(bytes, CUSHIM_OUTCOME_REFUSED);
}
#endif
