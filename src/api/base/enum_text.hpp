// to_text() of an enum.
#pragma once

#include <cushim/text.hpp>

#include <cstdio>

namespace cushim::detail {

// A null name: the value is not an enumerator.
template <class Enum>
Text enum_text(const char *type, const char *name, Enum value) noexcept {
    Text text;
    if (name != nullptr) {
        std::snprintf(text.characters, sizeof text.characters, "%s::%s", type, name);
    } else {
        std::snprintf(text.characters, sizeof text.characters, "%s(%u)", type,
                      static_cast<unsigned int>(value));
    }
    return text;
}

} // namespace cushim::detail

// A case of a switch without `default`: compilers then report an enumerator that has no case.
#define CUSHIM_NAME(enumerator)                                                                    \
    case Enum::enumerator:                                                                         \
        return #enumerator
