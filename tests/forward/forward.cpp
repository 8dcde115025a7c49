// Every entry point, through the table: the library gets the caller's arguments, and the caller
// gets the library's result.
#include "fake_library.hpp"
#include "rows.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>
#include <vector>

using namespace support;

namespace {

struct Library {
    const Rows &rows;
    const fake_control &fake;
};

// Loads both, because the loader searches for a driver before it opens a runtime.
Library loaded(cushim_library library) {
    const bool driver = library == CUSHIM_LIBRARY_DRIVER;
    const Library known = {
        driver ? driver_rows : runtime_rows,
        *fake_control_of(required_variable(driver ? "CUSHIM_DRIVER" : "CUSHIM_RUNTIME"))};
    REQUIRE(cushim_load(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED);
    REQUIRE(cushim_load(CUSHIM_LIBRARY_RUNTIME) == CUSHIM_STATE_LOADED);
    REQUIRE(known.fake.row_count == known.rows.count);
    return known;
}

// The error of a call, or an empty string.
std::string fault_of(const Call &call, const fake_record &got, const std::string &name,
                     const std::string &answer) {
    if (call.pointer_missing) {
        return "pfn() returned no function";
    }
    if (got.name == nullptr || got.name != name) {
        return std::string("reached ") + (got.name != nullptr ? got.name : "nothing");
    }
    if (got.count != call.count || got.size != call.size) {
        return "received arguments of another number or size";
    }
    unsigned int at = 0;
    for (unsigned int i = 0; i != call.count; at += call.sizes[i++]) {
        if (got.sizes[i] != call.sizes[i] ||
            std::memcmp(got.bytes + at, call.bytes + at, call.sizes[i]) != 0) {
            return "received another value for argument " + std::to_string(i + 1);
        }
    }
    if (answer.size() != call.answer_size ||
        std::memcmp(call.answer, answer.data(), answer.size()) != 0) {
        return "the caller received another result";
    }
    return "";
}

std::string answer_of(const fake_control &fake, unsigned int row) {
    unsigned char bytes[FAKE_MAX_RESULT];
    const unsigned int size = fake.answer(row, bytes);
    return {reinterpret_cast<const char *>(bytes), size};
}

// Makes one call and returns its error.
std::string forward(const Library &library, unsigned int row, Way way) {
    library.fake.reset();
    library.fake.arm(1);
    Call call(way, Values::patterns, row * 3 + static_cast<unsigned int>(way));
    library.rows[row].call(call);
    const std::string fault =
        fault_of(call, *library.fake.last(), library.rows[row].name, answer_of(library.fake, row));
    const unsigned int calls = library.fake.calls(row);
    library.fake.reset();
    return !fault.empty() || calls == 1 ? fault : "was called " + std::to_string(calls) + " times";
}

void forward_all(cushim_library which) {
    const Library library = loaded(which);
    for (unsigned int row = 0; row != library.rows.count; ++row) {
        INFO(library.rows[row].name);
        REQUIRE(library.fake.name(row) == std::string(library.rows[row].name));
        CHECK_FALSE(library.rows[row].resolved());
        CHECK(forward(library, row, Way::member) == ""); // by the first-call thunk
        CHECK(library.rows[row].resolved());
        CHECK(forward(library, row, Way::spelled) == ""); // by the slot
        CHECK(forward(library, row, Way::pointer) == "");
    }
}

// Otherwise a call of the wrong function could return the expected result.
void answers_differ(cushim_library which) {
    const Library library = loaded(which);
    std::set<std::string> answers;
    for (unsigned int row = 0; row != library.rows.count; ++row) {
        INFO(library.rows[row].name);
        CHECK(answers.insert(answer_of(library.fake, row)).second);
    }
}

struct Visited {
    std::vector<std::string> names;
    std::vector<int> introduced;
    std::vector<int> statuses;
};

void visit(const cushim_entry_point *entry, void *user) {
    auto &seen = *static_cast<Visited *>(user);
    seen.names.emplace_back(entry->name);
    seen.introduced.push_back(entry->introduced);
    seen.statuses.push_back(entry->status);
}

void registry_has_all(cushim_library which) {
    const Library library = loaded(which);
    Visited seen;
    REQUIRE(cushim_visit_entry_points(which, visit, &seen) == library.rows.count);
    REQUIRE(seen.names.size() == library.rows.count);
    for (std::size_t row = 0; row != library.rows.count; ++row) {
        INFO(library.rows[row].name);
        CHECK(seen.names[row] == library.rows[row].name);
        CHECK(seen.introduced[row] == library.rows[row].introduced);
        CHECK(seen.statuses[row] == 0);
    }
}

} // namespace

TEST_CASE("every function of a fake library returns a different result") {
    answers_differ(CUSHIM_LIBRARY_DRIVER);
    answers_differ(CUSHIM_LIBRARY_RUNTIME);
}

TEST_CASE("every driver entry point forwards every argument and its result") {
    forward_all(CUSHIM_LIBRARY_DRIVER);
}

TEST_CASE("every runtime entry point forwards every argument and its result") {
    forward_all(CUSHIM_LIBRARY_RUNTIME);
}

TEST_CASE("the registry lists every row in the order of the headers") {
    registry_has_all(CUSHIM_LIBRARY_DRIVER);
    registry_has_all(CUSHIM_LIBRARY_RUNTIME);
}
