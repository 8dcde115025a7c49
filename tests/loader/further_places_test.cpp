// Where a further library is found, and which files are rejected.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "further.hpp"
#include "machine.hpp"

using namespace support;

namespace {

std::string good_further() {
    return required_variable("FAKE_FURTHER");
}

const cushim_report &further_report() {
    return cushim::report(further::number());
}

bool calls_are_forwarded() {
    int sum = 0;
    return further::add(2, 3, &sum) == 7 && sum == 5;
}

void check_found(const std::string &file) {
    CHECK(calls_are_forwarded());
    check_loaded_from(further_report(), file);
    CHECK(further_report().version == 4120);
    CHECK(contains(further_report().explanation, "Further 4.12, "));
    // Neither the driver nor the runtime is needed.
    CHECK(driver_report().state == CUSHIM_STATE_NOT_TRIED);
    CHECK(runtime_report().state == CUSHIM_STATE_NOT_TRIED);
}

void check_absent(cushim_reason reason) {
    int sum = -5;
    CHECK(further::add(2, 3, &sum) == further::absent);
    CHECK(sum == -5);
    CHECK(further_report().state == CUSHIM_STATE_ABSENT);
    CHECK(further_report().reason == reason);
    CHECK(cushim_absent_status(further::number()) == CUSHIM_CALL_ABSENT);
    const auto failed = cushim::load(further::number());
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind() == cushim::ErrorKind::library_not_found);
    CHECK(contains(failed.error().message(), further_report().explanation));
    CHECK(contains(failed.error().message(), "no Further"));
}

// A machine with the library only in this place.
void expect_found_in(const char *variable, const std::string &folder) {
    const Folder machine;
    const std::string file = machine.copy(good_further(), folder + further::file_name);
    set_variable(variable, machine.path());
    find_nothing(); // in all other places
    check_found(file);
}

// CUSHIM_FURTHER names a file that cannot be used.
void expect_rejected(const std::string &file, cushim_outcome outcome) {
    set_variable("CUSHIM_FURTHER", file);
    check_absent(CUSHIM_REASON_CHOSEN_PATH);
    REQUIRE(further_report().candidate_count == 1);
    CHECK(outcome_of(further_report(), file) == outcome);
    CHECK(contains(further_report().explanation, file));
    CHECK(contains(further_report().hint, "correct the path in CUSHIM_FURTHER"));
}

#if defined(_WIN32)
const std::string conda = "Library/bin/", packages = "Lib/site-packages/nvidia/further/bin/";
#else
const std::string conda = "lib/", packages = "lib/python3.11/site-packages/nvidia/further/lib/";
#endif

// For libraries that come with the driver, and for those of the program.
constexpr cushim_library_description of_driver = further::describe(
    CUSHIM_PLACE_BESIDE_DRIVER | CUSHIM_PLACE_DRIVER, CUSHIM_VERSION_NONE, nullptr);
constinit cushim_loadable library_of_driver = further::loadable_of(of_driver);
constexpr cushim_library_description of_program =
    further::describe(CUSHIM_PLACE_PROGRAM, CUSHIM_VERSION_NONE, nullptr);
constinit cushim_loadable library_of_program = further::loadable_of(of_program);

} // namespace

TEST_CASE("a variable names the file of a further library", "[further_variable]") {
    set_variable("CUSHIM_FURTHER", good_further());
    check_found(good_further());
    CHECK(std::string(cushim_library_title(further::number())) == "Further");
    CHECK(cushim::load(further::number()));
    CHECK(cushim_library_version(further::number()) == 4120);
    CHECK(cushim_absent_status(further::number()) == 0);
    CHECK(std::string(further_report().hint) == "");
}

TEST_CASE("the path of a further library can be chosen in code", "[further_code]") {
    const std::string file = good_further();
    CHECK(cushim_choose_library(further::number(), file.c_str()) == CUSHIM_CONFIGURE_OK);
    CHECK(cushim_choose_library(further::number(), "/other") == CUSHIM_CONFIGURE_TOO_LATE);
    CHECK(cushim_choose_library(further::number(), nullptr) == CUSHIM_CONFIGURE_INVALID);
    CHECK(cushim_choose_library(further::number(), std::string(5000, 'x').c_str()) ==
          CUSHIM_CONFIGURE_INVALID);
    CHECK(cushim_choose_library(CUSHIM_LIBRARY_DRIVER, "/other") == CUSHIM_CONFIGURE_INVALID);
    CHECK(cushim_choose_library(CUSHIM_LIBRARY_RUNTIME, "/other") == CUSHIM_CONFIGURE_INVALID);
    check_found(file);
}

TEST_CASE("if the path in code of a further library cannot be loaded, no other file is used",
          "[further_bad_code]") {
    const Folder machine;
    machine.copy(good_further(), toolkit_folder + further::file_name);
    set_variable("CUDA_PATH", machine.path());
    REQUIRE(cushim_choose_library(further::number(), "/nonexistent/further") ==
            CUSHIM_CONFIGURE_OK);
    check_absent(CUSHIM_REASON_CHOSEN_PATH);
}

TEST_CASE("the variable of a further library takes precedence over the code", "[further_wins]") {
    set_variable("CUSHIM_FURTHER", good_further());
    REQUIRE(cushim_choose_library(further::number(), "/nonexistent/further") ==
            CUSHIM_CONFIGURE_OK);
    check_found(good_further());
}

TEST_CASE("a path in code after the search for a further library is rejected", "[further_late]") {
    find_nothing();
    check_absent(CUSHIM_REASON_NOT_FOUND);
    CHECK(cushim_choose_library(further::number(), good_further().c_str()) ==
          CUSHIM_CONFIGURE_TOO_LATE);
    CHECK(contains(further_report().hint, "install Further, or set CUSHIM_FURTHER to its library"));
}

TEST_CASE("a further library in CUDA_PATH is found", "[further_cuda_path]") {
    expect_found_in("CUDA_PATH", toolkit_folder);
}

TEST_CASE("a further library in CUDA_HOME is found", "[further_cuda_home]") {
    expect_found_in("CUDA_HOME", toolkit_folder);
}

TEST_CASE("a further library in CONDA_PREFIX is found", "[further_conda]") {
    expect_found_in("CONDA_PREFIX", conda);
}

TEST_CASE("a further library among the packages of CONDA_PREFIX is found",
          "[further_conda_wheel]") {
    expect_found_in("CONDA_PREFIX", packages);
}

TEST_CASE("a further library in an active Python environment is found", "[further_python]") {
    expect_found_in("VIRTUAL_ENV", packages);
}

TEST_CASE("the preferred file name of a further library is tried first", "[further_names]") {
    const Folder machine;
    machine.copy(good_further(), toolkit_folder + further::other_name);
    const std::string preferred = machine.copy(good_further(), toolkit_folder + further::file_name);
    set_variable("CUDA_PATH", machine.path());
    find_nothing();
    check_found(preferred);
}

TEST_CASE("the second file name of a further library is found", "[further_second_name]") {
    const Folder machine;
    const std::string file = machine.copy(good_further(), toolkit_folder + further::other_name);
    set_variable("CUDA_PATH", machine.path());
    find_nothing();
    check_found(file);
}

TEST_CASE("a further library that the process has already loaded is used", "[further_already]") {
    function_of(good_further(), "furtherInit");
    REQUIRE(cushim::configure({.system_search = false, .known_places = false}));
    check_found(good_further());
    CHECK(contains(further_report().candidates[0].detail, "already"));
}

// meson.build puts the folder of the library on LD_LIBRARY_PATH.
TEST_CASE("a further library is found by the system's search", "[further_search]") {
    check_found(good_further());
}

TEST_CASE("a further library is found beside the program", "[further_program]") {
    REQUIRE(cushim::configure({.already_loaded = false, .system_search = false}));
    const cushim_library number = cushim_library_of(&library_of_program);
    REQUIRE(cushim::load(number));
    check_loaded_from(cushim::report(number), good_further());
    CHECK(cushim::report(number).version == 0);
    CHECK(contains(cushim::report(number).explanation, "Further, "));
}

TEST_CASE("a library of the driver is found in the folder of the loaded driver",
          "[further_driver_folder]") {
    const Folder folder;
    const std::string driver = folder.copy(good_driver(), driver_file_name());
    const std::string file = folder.copy(good_further(), further::file_name);
    fake_control_of(driver); // loads it
    REQUIRE(cushim::configure({.system_search = false}));
    REQUIRE(cushim::load_driver());
    const cushim_library number = cushim_library_of(&library_of_driver);
    REQUIRE(cushim::load(number));
    check_loaded_from(cushim::report(number), file);
}

TEST_CASE("a library of the driver is found beside a driver chosen by its path",
          "[further_beside]") {
    const Folder folder;
    set_variable("CUSHIM_DRIVER", folder.copy(good_driver(), driver_file_name()));
    const std::string file = folder.copy(good_further(), further::file_name);
    const cushim_library number = cushim_library_of(&library_of_driver);
    REQUIRE(cushim::load(number));
    check_loaded_from(cushim::report(number), file);
}

TEST_CASE("a library of the driver is only found beside a driver chosen by its path",
          "[further_not_beside]") {
    const Folder folder;
    function_of(good_further(), "furtherInit"); // would be found otherwise
    set_variable("CUSHIM_DRIVER", folder.copy(good_driver(), driver_file_name()));
    const cushim_library number = cushim_library_of(&library_of_driver);
    CHECK_FALSE(cushim::load(number));
    CHECK(cushim::report(number).reason == CUSHIM_REASON_CHOSEN_PATH);
    CHECK(contains(cushim::report(number).explanation, "in the folder of the chosen driver"));
    CHECK(std::string(cushim::report(number).hint) ==
          "put Further in the folder of the driver that CUSHIM_DRIVER or the program's settings "
          "name, or set its path in CUSHIM_FURTHER");
}

TEST_CASE("a wrong path of a library of the driver is to be corrected or unset",
          "[further_driver_path]") {
    set_variable("CUSHIM_FURTHER", "/nowhere/library");
    const cushim_library number = cushim_library_of(&library_of_driver);
    CHECK_FALSE(cushim::load(number));
    CHECK(std::string(cushim::report(number).hint) ==
          "correct the path in CUSHIM_FURTHER or in the program's settings, or unset it so that "
          "the loader searches for Further");
}

TEST_CASE("a library without a file name for this system is absent unless its path is set",
          "[further_no_names]") {
    static constexpr const char *no_names[] = {nullptr};
    static constexpr auto nameless = [](const char *name) {
        cushim_library_description description = further::describe(
            CUSHIM_PLACE_BESIDE_DRIVER | CUSHIM_PLACE_DRIVER | CUSHIM_PLACE_TOOLKIT |
                CUSHIM_PLACE_PACKAGES | CUSHIM_PLACE_PROGRAM,
            CUSHIM_VERSION_NONE, nullptr);
        description.file_names = no_names;
        description.name = name;
        return description;
    };
    static constexpr cushim_library_description one = nameless("one"), other = nameless("other");
    static constinit cushim_loadable first = further::loadable_of(one);
    static constinit cushim_loadable second = further::loadable_of(other);
    static constinit cushim_loadable of_plugin = further::loadable_of(other);
    const Folder folder;
    set_variable("CUSHIM_DRIVER", folder.copy(good_driver(), driver_file_name()));
    const cushim_library number = cushim_library_of(&first);
    CHECK_FALSE(cushim::load(number));
    CHECK(cushim::report(number).reason == CUSHIM_REASON_NOT_FOUND);
    CHECK(std::string(cushim::report(number).explanation) ==
          "no Further: its description has no file name for this system");
    CHECK(std::string(cushim::report(number).hint) == "set CUSHIM_FURTHER to the library's path");

    set_variable("CUSHIM_FURTHER", good_further());
    CHECK(cushim_library_of(&second) != number);
    CHECK(cushim_library_of(&of_plugin) == cushim_library_of(&second));
    REQUIRE(cushim::load(cushim_library_of(&second)));
    check_loaded_from(cushim::report(cushim_library_of(&second)), good_further());
}

TEST_CASE("CUSHIM_DISABLE disables further libraries", "[further_disabled]") {
    set_variable("CUSHIM_FURTHER", good_further());
    set_variable("CUSHIM_DISABLE", "1");
    check_absent(CUSHIM_REASON_DISABLED);
    CHECK(further_report().candidate_count == 0);
    CHECK(std::string(further_report().hint) == "unset CUSHIM_DISABLE to use Further");
}

TEST_CASE("settings without any place to search for a further library are the reported reason",
          "[further_switched_off]") {
    REQUIRE(cushim::configure({.environment = false,
                               .already_loaded = false,
                               .system_search = false,
                               .known_places = false}));
    set_variable("CUSHIM_FURTHER", good_further());
    check_absent(CUSHIM_REASON_SWITCHED_OFF);
    CHECK(std::string(further_report().hint) ==
          "set Further's path in the program's settings, or enable a search location in them");
}

TEST_CASE("a missing file of a further library is reported", "[further_missing_file]") {
    expect_rejected("/nonexistent/further", CUSHIM_OUTCOME_NOT_FOUND);
}

TEST_CASE("a library without the required name is rejected", "[further_wrong]") {
    expect_rejected(required_variable("FAKE_FURTHER_WRONG"), CUSHIM_OUTCOME_NOT_CUDA);
    CHECK(contains(further_report().explanation, "not Further: it has no furtherInit"));
}

TEST_CASE("a further library of another major version is rejected", "[further_other_major]") {
    expect_rejected(required_variable("FAKE_FURTHER_OTHER_MAJOR"), CUSHIM_OUTCOME_WRONG_VERSION);
    CHECK(contains(further_report().explanation,
                   "Further 5.12, but this program was built for major version 4"));
}

TEST_CASE("a truncated further library is rejected", "[further_truncated]") {
    const Folder folder;
    const std::string bytes = bytes_of(good_further());
    expect_rejected(folder.write("file", bytes.substr(0, bytes.size() / 3)),
                    CUSHIM_OUTCOME_TRUNCATED);
}

TEST_CASE("a further library for another architecture is rejected", "[further_machine]") {
    const Folder folder;
    std::string bytes = bytes_of(good_further());
    bytes.at(machine_offset(bytes)) = '\x08';
    expect_rejected(folder.write("file", bytes), CUSHIM_OUTCOME_WRONG_ARCHITECTURE);
}

TEST_CASE("a search continues after a further library of another major version",
          "[further_goes_on]") {
    const Folder machine;
    machine.copy(required_variable("FAKE_FURTHER_OTHER_MAJOR"),
                 "first/" + toolkit_folder + further::file_name);
    const std::string good =
        machine.copy(good_further(), "second/" + toolkit_folder + further::file_name);
    set_variable("CUDA_PATH", machine / "first");
    set_variable("CUDA_HOME", machine / "second");
    find_nothing();
    check_found(good);
    REQUIRE(further_report().candidate_count == 2);
    CHECK(further_report().candidates[0].outcome == CUSHIM_OUTCOME_WRONG_VERSION);
}
