// to_text() of an enum.
#pragma once

#include <cushim/text.hpp>

#include <cstdio>
#include <initializer_list>
#include <type_traits>

namespace cushim::detail {

template <class Enum>
struct EnumName {
    Enum value;
    const char *name;
};

// "Api::driver"; "Api(200)" for a value without a name. The names are those of all enumerators.
template <class Enum>
Text enum_text(const char *type, Enum value,
               std::initializer_list<EnumName<std::type_identity_t<Enum>>> names) noexcept {
    Text text;
    for (const EnumName<Enum> &each : names) {
        if (each.value == value) {
            std::snprintf(text.characters, sizeof text.characters, "%s::%s", type, each.name);
            return text;
        }
    }
    std::snprintf(text.characters, sizeof text.characters, "%s(%u)", type,
                  static_cast<unsigned int>(value));
    return text;
}

} // namespace cushim::detail
