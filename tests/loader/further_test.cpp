// Further libraries: any number in a process, first use, entry points, reports.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <set>
#include <vector>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "further.hpp"
#include "in_threads.hpp"
#include "machine.hpp"

using namespace support;

namespace {

void choose_further() {
    set_variable("CUSHIM_FURTHER", required_variable("FAKE_FURTHER"));
}

int add_2_and_3() {
    int sum = 0;
    const int status = further::add(2, 3, &sum);
    return status == 7 && sum == 5 ? 0 : status;
}

using further::Add;

int own_first(int, int, int *) {
    return -3;
}

std::string report_text() {
    std::vector<char> text(cushim_report_text(nullptr, 0) + 1);
    CHECK(cushim_report_text(text.data(), text.size()) == text.size() - 1);
    return text.data();
}

struct VersionWay {
    const char *name;
    int kind;
    const char *function;
    int major_unit, minor_unit;
    int version; // as the report has it
};
constexpr VersionWay version_ways[] = {
    {"none", CUSHIM_VERSION_NONE, nullptr, 0, 0, 0},
    {"major_minor", CUSHIM_VERSION_MAJOR_MINOR, "furtherMajorMinor", 0, 0, 4120},
    {"property", CUSHIM_VERSION_PROPERTY, "furtherProperty", 0, 0, 4120},
    {"written", CUSHIM_VERSION_WRITTEN, "furtherWritten", 10000, 100, 4120},
    {"as CUDA's", CUSHIM_VERSION_WRITTEN, "furtherCuda", 0, 0, 4120},
    {"returned", CUSHIM_VERSION_RETURNED, "furtherReturned", 16, 1, 4120},
    {"failing", CUSHIM_VERSION_WRITTEN, "furtherFailing", 0, 0, 0},
    {"missing", CUSHIM_VERSION_WRITTEN, "furtherNoSuchFunction", 0, 0, 0},
    {"of a newer description", 77, "furtherCuda", 0, 0, 0},
    {"too high", CUSHIM_VERSION_MAJOR_MINOR, "furtherMost", 0, 0, 0},
    {"too low", CUSHIM_VERSION_MAJOR_MINOR, "furtherLeast", 0, 0, 0},
    {"written, too low", CUSHIM_VERSION_WRITTEN, "furtherWrittenLeast", 1, 1, 0},
    {"as CUDA's, too low", CUSHIM_VERSION_WRITTEN, "furtherWrittenLeast", 0, 0, 0},
    {"returned, too high", CUSHIM_VERSION_RETURNED, "furtherReturnedMost", 16, 1, 0},
};
constexpr size_t way_count = sizeof version_ways / sizeof version_ways[0];
std::array<cushim_library_description, way_count> descriptions;
std::array<cushim_loadable, way_count> libraries;

void make_libraries() {
    for (size_t i = 0; i < way_count; ++i) {
        const VersionWay &way = version_ways[i];
        descriptions[i] =
            further::describe(0, way.kind, way.function, way.major_unit, way.minor_unit, way.name);
        libraries[i] = further::loadable_of(descriptions[i]);
    }
}

} // namespace

TEST_CASE("a process has any number of libraries, which report their versions",
          "[further_versions]") {
    choose_further();
    make_libraries();
    std::set<int> numbers = {CUSHIM_LIBRARY_DRIVER, CUSHIM_LIBRARY_RUNTIME};
    for (size_t i = 0; i < way_count; ++i) {
        INFO(version_ways[i].name);
        const cushim_library number = cushim_library_of(&libraries[i]);
        CHECK(numbers.insert(number).second);
        CHECK(cushim_library_of(&libraries[i]) == number);
        CHECK(cushim::load(number));
        CHECK(cushim_library_version(number) == version_ways[i].version);
    }
}

TEST_CASE("racing threads give each library one number", "[further_numbers_race]") {
    make_libraries();
    std::array<std::array<int, way_count>, 8> seen;
    in_threads(8, [&](unsigned int thread) {
        for (size_t i = 0; i < way_count; ++i) {
            const size_t library = (i + thread) % way_count;
            seen[thread][library] = cushim_library_of(&libraries[library]);
        }
    });
    std::set<int> numbers;
    for (size_t i = 0; i < way_count; ++i) {
        numbers.insert(seen[0][i]);
        for (const auto &of_thread : seen) {
            CHECK(of_thread[i] == seen[0][i]);
        }
        CHECK(cushim::report(static_cast<cushim_library>(seen[0][i])).state ==
              CUSHIM_STATE_NOT_TRIED);
    }
    CHECK(numbers.size() == way_count);
    CHECK(*numbers.begin() == 2);
    CHECK(*numbers.rbegin() == way_count + 1);
}

TEST_CASE("the same library of a program and its plugin is one", "[further_twice]") {
    static constinit cushim_loadable of_plugin = further::loadable_of(further::description);
    static constexpr cushim_library_description newer = [] {
        cushim_library_description description = further::description;
        description.major = 5;
        return description;
    }();
    static constinit cushim_loadable of_newer_plugin = further::loadable_of(newer);
    choose_further();
    CHECK(add_2_and_3() == 0);
    CHECK(cushim_library_of(&of_plugin) == further::number());
    Add own_slot = own_first;
    CHECK(cushim_first_call_library(&of_plugin, reinterpret_cast<cushim_function *>(&own_slot),
                                    reinterpret_cast<cushim_function>(own_first),
                                    further::add_row) == CUSHIM_CALL_READY);
    CHECK(own_slot == further::add_slot);
    CHECK(cushim_library_of(&of_newer_plugin) != further::number()); // other structs
    CHECK_FALSE(cushim::load(cushim_library_of(&of_newer_plugin)));
}

TEST_CASE("an unknown number has no library", "[further_unknown]") {
    const auto unknown = static_cast<cushim_library>(77);
    CHECK(cushim_load(unknown) == CUSHIM_STATE_ABSENT);
    CHECK(cushim_reload(unknown) == CUSHIM_STATE_ABSENT);
    CHECK(cushim_load_report(unknown)->state == CUSHIM_STATE_NOT_TRIED);
    CHECK(cushim_library_version(unknown) == 0);
    CHECK(cushim_absent_status(unknown) == CUSHIM_CALL_ABSENT);
    CHECK(std::string(cushim_library_title(unknown)) == "");
    CHECK(cushim_choose_library(unknown, "/library") == CUSHIM_CONFIGURE_INVALID);
    CHECK(cushim_visit_entry_points(unknown, nullptr, nullptr) == 0);
    CHECK(cushim_resolve_all(unknown) == 0);
    CHECK(cushim_left_out(unknown, nullptr) == 0);
    cushim_entry_point found;
    CHECK(cushim_find_entry_point(unknown, "cuInit", &found) == 0);
}

TEST_CASE("racing first calls of a further library are forwarded", "[further_race]") {
    choose_further();
    in_threads(8, [](unsigned int) {
        for (int i = 0; i < 100; ++i) {
            if (add_2_and_3() != 0 || further::gone() != further::missing) {
                throw std::runtime_error("a call was not forwarded");
            }
        }
    });
    CHECK(further::add_slot != further::first_add);
    CHECK(further::gone_slot == further::first_gone);
}

TEST_CASE("a name that a further library lacks is missing", "[further_gone]") {
    choose_further();
    CHECK(further::gone() == further::missing);
    CHECK(add_2_and_3() == 0);
    CHECK_FALSE(cushim::is_available<further::entry::gone>());
    const auto failed = cushim::detail::pfn<further::entry::gone>();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind() == cushim::ErrorKind::symbol_not_found);
    CHECK(std::string(failed.error().entry_point()) == "furtherGone");
    CHECK(std::string(failed.error().message()) ==
          "Further (4.12) lacks the entry point furtherGone");
    CHECK(failed.error().installed() == cushim::Version::of(4, 12));
}

TEST_CASE("an absent further library is loaded by a reload", "[further_reload]") {
    const Folder folder;
    const std::string file = folder / further::file_name;
    set_variable("CUSHIM_FURTHER", file);
    CHECK(add_2_and_3() == further::absent);
    const cushim_report &before = cushim::report(further::number());
    folder.copy(required_variable("FAKE_FURTHER"), further::file_name);
    CHECK(add_2_and_3() == further::absent); // no second search
    CHECK(cushim_reload(further::number()) == CUSHIM_STATE_LOADED);
    CHECK(before.state == CUSHIM_STATE_ABSENT); // the old report is unchanged
    CHECK(add_2_and_3() == 0);
    set_variable("CUSHIM_DISABLE", "1");
    CHECK(cushim_reload(further::number()) == CUSHIM_STATE_LOADED);
    CHECK(driver_report().state == CUSHIM_STATE_NOT_TRIED);
}

TEST_CASE("the text of the report lists further libraries that were used", "[further_report]") {
    CHECK_FALSE(contains(report_text(), "further"));
    (void)further::number();
    CHECK(contains(report_text(), "further: no search has taken place yet\n"));
    choose_further();
    CHECK(add_2_and_3() == 0);
    const std::string path = required_variable("FAKE_FURTHER");
    CHECK(contains(report_text(), "further: Further 4.12, "));
    CHECK(contains(report_text(), "  " + path + ": loaded\n"));
    CHECK(contains(report_text(), "driver: no search has taken place yet\n"));
}

TEST_CASE("the text of the report says why a further library was rejected",
          "[further_report_wrong]") {
    const std::string path = required_variable("FAKE_FURTHER_WRONG");
    set_variable("CUSHIM_FURTHER", path);
    CHECK(add_2_and_3() == further::absent);
    CHECK(contains(report_text(), "  " + path + ": wrong library: not Further"));
    CHECK(contains(report_text(), "  hint: correct the path in CUSHIM_FURTHER"));
}

TEST_CASE("entry points of a further library can be overridden", "[further_override]") {
    choose_further();
    {
        const cushim::ScopedOverride<further::entry::add> scope([](int, int, int *sum) {
            *sum = 5;
            return 7;
        });
        CHECK(add_2_and_3() == 0);
        CHECK(cushim::report(further::number()).state == CUSHIM_STATE_NOT_TRIED);
        int sum = 0;
        CHECK(scope.original()(4, 5, &sum) == 7);
        CHECK(sum == 9);
        CHECK(cushim::report(further::number()).state == CUSHIM_STATE_LOADED);
    }
    CHECK(add_2_and_3() == 0);
    CHECK(cushim::is_available<further::entry::add>());
    const auto pointer = cushim::detail::pfn<further::entry::add>();
    REQUIRE(pointer);
    CHECK(*pointer == further::add_slot);
}

TEST_CASE("entry points of a further library are known by name once its rows are linked",
          "[further_names_of]") {
    choose_further();
    cushim_entry_point found = {};
    CHECK(cushim_find_entry_point(further::number(), "furtherAdd", &found) == 0);
    CHECK(cushim_visit_entry_points(further::number(), nullptr, nullptr) == 0);

    const cushim_library number = further::entry_points();
    CHECK(number == further::number());
    CHECK(cushim_visit_entry_points(number, nullptr, nullptr) == 2);
    REQUIRE(cushim_find_entry_point(number, "furtherAdd", &found) == 1);
    CHECK(std::string(found.name) == "furtherAdd");
    CHECK(found.status == 0);
    REQUIRE(cushim_find_entry_point(number, "furtherGone", &found) == 1);
    CHECK(found.status == CUSHIM_CALL_MISSING);
    CHECK(cushim_find_entry_point(number, "cuInit", &found) == 0);
    CHECK(cushim_resolve_all(number) == 1);
    CHECK(further::add_slot != further::first_add);
    const auto own = +[](int, int, int *) { return 1; };
    const cushim_function before =
        cushim_exchange_by_name(number, "furtherAdd", reinterpret_cast<cushim_function>(own));
    CHECK(add_2_and_3() == 1);
    cushim_exchange_by_name(number, "furtherAdd", before);
    CHECK(add_2_and_3() == 0);
    const char *const *left_out = nullptr;
    CHECK(cushim_left_out(number, &left_out) == 1);
    CHECK(std::string(left_out[0]) == "int furtherOdd(...)");
}

TEST_CASE("entry points of an absent further library have its status", "[further_names_absent]") {
    set_variable("CUSHIM_DISABLE", "1");
    cushim_entry_point found = {};
    REQUIRE(cushim_find_entry_point(further::entry_points(), "furtherAdd", &found) == 1);
    CHECK(found.status == CUSHIM_CALL_ABSENT);
    CHECK_FALSE(cushim::is_available<further::entry::add>());
}

#ifndef _WIN32
TEST_CASE("further libraries work in the child of a fork", "[further_fork]") {
    choose_further();
    const auto works_in_child = [] {
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            _exit(add_2_and_3() == 0 && further::gone() == further::missing ? 0 : 1);
        }
        int status = -1;
        return child > 0 && waitpid(child, &status, 0) == child && status == 0;
    };
    CHECK(works_in_child()); // first use in the child
    CHECK(cushim::report(further::number()).state == CUSHIM_STATE_NOT_TRIED);
    std::atomic<bool> done = false;
    std::thread other([&] {
        while (!done) {
            cushim_reload(further::number());
            (void)add_2_and_3();
        }
    });
    for (int i = 0; i < 10; ++i) {
        CHECK(works_in_child()); // during first uses
    }
    done = true;
    other.join();
    CHECK(add_2_and_3() == 0);
    CHECK(works_in_child());
}
#endif
