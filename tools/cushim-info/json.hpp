// Writes an indented JSON document as a string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cushim_info {

// The text as a quoted JSON string. Each byte that is not UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

// The caller pairs begin and end, and writes a key before each value of an object.
class JsonWriter {
  public:
    void begin_object();
    void end_object();
    void begin_array();
    void end_array();
    void key(std::string_view name);
    void string(std::string_view value);
    void number(std::int64_t value);
    void number(std::uint64_t value);
    void boolean(bool value);
    void null();
    void string_or_null(std::string_view value); // null for ""
    void strings(const std::vector<std::string> &values);

    // The document with a final newline.
    std::string take();

  private:
    void open(char bracket);
    void close(char bracket);
    void before_value();
    void new_line();

    std::string text_;
    std::size_t depth_ = 0;
    bool is_first_ = true;
    bool after_key_ = false;
};

} // namespace cushim_info
