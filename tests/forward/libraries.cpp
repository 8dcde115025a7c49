// Every entry point of the further libraries of this build: through the table, through its pointer
// and by its exported name, which the drop-in defines; with the whole library, with one that lacks
// all functions but one, and without any.
#include "forwarding.hpp"
#include "library_rows.hpp"

#include <cctype>

using namespace support;

namespace support {

#define LIBRARY(name) extern const LibraryRows name##_rows;
LIBRARIES
#undef LIBRARY

} // namespace support

namespace {

const LibraryRows *const libraries[] = {
#define LIBRARY(name) &name##_rows,
    LIBRARIES
#undef LIBRARY
};

Library loaded(const LibraryRows &described) {
    std::string variable = std::string("CUSHIM_") + described.name;
    for (char &letter : variable) {
        letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    const fake_control &fake = *fake_control_of(required_variable(variable.c_str()));
    REQUIRE(cushim_load(described.rows.library) == CUSHIM_STATE_LOADED);
    return {described.rows, fake};
}

// Calls a row that cannot be forwarded, in each way.
void check_unavailable(const LibraryRows &described, std::size_t number, bool missing) {
    const Row &row = described.rows[number];
    INFO(row.name);
    for (const Way way : {Way::member, Way::spelled}) {
        Call call(way, Values::harmless, 0);
        row.call(call);
        Call expected(way, Values::harmless, 0);
        described.unavailable[number](expected, missing);
        if (expected.answer_size == 0 && call.answer_size == sizeof(const char *)) {
            const char *text = nullptr;
            std::memcpy(&text, call.answer, sizeof text);
            REQUIRE(text != nullptr);
            CHECK(std::strlen(text) > 10);
        } else {
            CHECK(call.answer_size == expected.answer_size);
            CHECK(std::memcmp(call.answer, expected.answer, expected.answer_size) == 0);
        }
        CHECK(call.outputs_untouched());
    }
    CHECK_FALSE(row.resolved());
    if (number < described.pointers) {
        Call call(Way::pointer, Values::harmless, 0);
        row.call(call);
        CHECK(call.pointer_missing);
    }
}

} // namespace

TEST_CASE("every function of a library forwards every argument and its result", "[whole]") {
    for (const LibraryRows *described : libraries) {
        INFO(described->name);
        const Library library = loaded(*described);
        REQUIRE(library.fake.row_count == library.rows.count);
        answers_differ(library);
        registry_has_all(library);
        forward_all(library, described->pointers);
    }
}

TEST_CASE("a function that a library lacks returns the described result", "[few]") {
    for (const LibraryRows *described : libraries) {
        INFO(described->name);
        const Library library = loaded(*described);
        REQUIRE(library.fake.row_count == 1);
        for (std::size_t number = 0; number != library.rows.count; ++number) {
            if (library.rows[number].name != std::string(described->required)) {
                check_unavailable(*described, number, true);
            }
        }
    }
}

TEST_CASE("without a library, every function returns the described result", "[absent]") {
    for (const LibraryRows *described : libraries) {
        INFO(described->name);
        REQUIRE(cushim_load(described->rows.library) == CUSHIM_STATE_ABSENT);
        CHECK(cushim_absent_status(described->rows.library) != 0);
        for (std::size_t number = 0; number != described->rows.count; ++number) {
            check_unavailable(*described, number, false);
        }
    }
}
