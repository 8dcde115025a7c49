#include <catch2/catch_test_macros.hpp>

#include "json.hpp"

using namespace cushim_info;

namespace {
const std::string replacement = "\xEF\xBF\xBD";

std::string in_quotes(const std::string &text) {
    return '"' + text + '"';
}
} // namespace

TEST_CASE("JSON strings escape quotes, backslashes and control characters") {
    CHECK(json_string("") == in_quotes(""));
    CHECK(json_string("plain /path") == in_quotes("plain /path"));
    CHECK(json_string("a\"b\\c") == in_quotes("a\\\"b\\\\c"));
    CHECK(json_string("\n\r\t") == in_quotes("\\u000a\\u000d\\u0009"));
    CHECK(json_string("\x1b[31m\x01\x7f") == in_quotes("\\u001b[31m\\u0001\\u007f"));
    CHECK(json_string(std::string_view("\0", 1)) == in_quotes("\\u0000"));
}

TEST_CASE("JSON strings keep well-formed UTF-8") {
    for (const std::string text : {"\xC3\xA9", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xEE\x80\x80",
                                   "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF", "\xC2\x80"}) {
        CHECK(json_string(text) == in_quotes(text));
    }
}

TEST_CASE("JSON strings replace each byte that is not UTF-8") {
    const auto replaced = [](std::string_view text) {
        std::string expected;
        for (std::size_t i = 0; i < text.size(); ++i) {
            expected += replacement;
        }
        return json_string(text) == in_quotes(expected);
    };
    CHECK(replaced("\xFF"));
    CHECK(replaced("\x80"));
    CHECK(replaced("\xC3"));             // cut off
    CHECK(replaced("\xF0\x9F\x98"));     // cut off
    CHECK(replaced("\xC0\x80"));         // overlong
    CHECK(replaced("\xE0\x80\x80"));     // overlong
    CHECK(replaced("\xF0\x80\x80\x80")); // overlong
    CHECK(replaced("\xED\xA0\x80"));     // a surrogate
    CHECK(replaced("\xF4\x90\x80\x80")); // beyond U+10FFFF
    CHECK(replaced("\xF5\x80\x80\x80"));
}

TEST_CASE("JSON strings continue after an invalid byte") {
    CHECK(json_string("a\xC3z") == in_quotes("a" + replacement + "z"));
    CHECK(json_string("\xE2\x82\"") == in_quotes(replacement + replacement + "\\\""));
}

TEST_CASE("JSON arrays and objects separate their elements") {
    CHECK(json_array({}) == "[]");
    CHECK(json_array({"1", "null"}) == "[1,\nnull]");
    CHECK(json_array(std::vector<std::string>{"a", ""}, json_string_or_null) == "[\"a\",\nnull]");
    CHECK(json_object({}) == "{}");
    CHECK(json_object({{"a\"", "1"}, {"b", "{}"}}) == "{\"a\\\"\": 1,\n\"b\": {}}");
}
