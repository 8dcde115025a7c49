// JSON values as text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cushim_info {

// The text as a quoted JSON string. Each byte that is not UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

// null for "".
std::string json_string_or_null(std::string_view text);

// The elements and the values of members are JSON values.
std::string json_array(const std::vector<std::string> &elements);
using JsonMember = std::pair<std::string_view, std::string>;
std::string json_object(const std::vector<JsonMember> &members);

// The results of a function for the elements of a list, as an array.
template <typename List, typename Function>
std::string json_array(const List &list, Function value_of) {
    std::vector<std::string> elements;
    elements.reserve(std::size(list));
    for (const auto &element : list) {
        elements.push_back(value_of(element));
    }
    return json_array(elements);
}

} // namespace cushim_info
