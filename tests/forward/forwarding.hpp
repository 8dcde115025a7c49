// Calls every entry point of a fake library, and compares the arguments that it got and its result.
#pragma once

#include "fake_library.hpp"
#include "rows.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>
#include <vector>

namespace support {

struct Library {
    const Rows &rows;
    const fake_control &fake;
};

// The error of a call, or an empty string.
inline std::string fault_of(const Call &call, const fake_record &got, const std::string &name,
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

inline std::string answer_of(const fake_control &fake, unsigned int row) {
    unsigned char bytes[FAKE_MAX_RESULT];
    const unsigned int size = fake.answer(row, bytes);
    return {reinterpret_cast<const char *>(bytes), size};
}

// Makes one call and returns its error.
inline std::string forward(const Library &library, unsigned int row, Way way) {
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

// pointers: the number of rows, from the first on, that are also called through their pointer.
inline void forward_all(const Library &library, std::size_t pointers) {
    for (unsigned int row = 0; row != library.rows.count; ++row) {
        INFO(library.rows[row].name);
        REQUIRE(library.fake.name(row) == std::string(library.rows[row].name));
        CHECK_FALSE(library.rows[row].resolved());
        CHECK(forward(library, row, Way::member) == ""); // by the first-call function
        CHECK(library.rows[row].resolved());
        CHECK(forward(library, row, Way::spelled) == ""); // by the slot
        CHECK((row >= pointers || forward(library, row, Way::pointer) == ""));
    }
}

// Otherwise a call of the wrong function could return the expected result.
inline void answers_differ(const Library &library) {
    std::set<std::string> answers;
    for (unsigned int row = 0; row != library.rows.count; ++row) {
        if (row % 1000 == 0) { // NPP has more functions than there are statuses
            answers.clear();
        }
        INFO(library.rows[row].name);
        const std::string answer = answer_of(library.fake, row);
        CHECK((answer.empty() || answers.insert(answer).second));
    }
}

struct Visited {
    std::vector<std::string> names;
    std::vector<int> introduced;
    std::vector<int> statuses;
};

inline void visit(const cushim_entry_point *entry, void *user) {
    auto &seen = *static_cast<Visited *>(user);
    seen.names.emplace_back(entry->name);
    seen.introduced.push_back(entry->introduced);
    seen.statuses.push_back(entry->status);
}

inline void registry_has_all(const Library &library) {
    Visited seen;
    REQUIRE(cushim_visit_entry_points(library.rows.library, visit, &seen) == library.rows.count);
    REQUIRE(seen.names.size() == library.rows.count);
    for (std::size_t row = 0; row != library.rows.count; ++row) {
        INFO(library.rows[row].name);
        CHECK(seen.names[row] == library.rows[row].name);
        CHECK(seen.introduced[row] == library.rows[row].introduced);
        CHECK(seen.statuses[row] == 0);
    }
}

} // namespace support
