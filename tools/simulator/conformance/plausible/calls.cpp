#include "calls.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

// Questions have it, too.
namespace record::legacy {
extern const char ptx[];
}

namespace record::plausible {

namespace {

template <class Type>
constexpr Kind kind_of() {
    using Target = std::remove_pointer_t<Type>;
    if constexpr (std::is_same_v<Type, CUstream>) {
        return Kind::stream;
    } else if constexpr (std::is_enum_v<Type>) {
        return Kind::enumeration;
    } else if constexpr (std::is_arithmetic_v<Type>) {
        return Kind::number;
    } else if constexpr (!std::is_pointer_v<Type>) {
        return Kind::structure;
    } else if constexpr (std::is_void_v<Target> || std::is_function_v<Target> ||
                         requires { sizeof(Target); }) {
        return Kind::pointer;
    } else {
        return Kind::handle;
    }
}

template <class Type>
constexpr Parameter parameter() {
    return {kind_of<Type>(), sizeof(Type)};
}

// Converts the value of an expression of arguments.txt to the type of the parameter.
template <class Type, class Value>
Type to(Value value) {
    if constexpr (std::is_pointer_v<Type> && std::is_pointer_v<Value> &&
                  !std::is_function_v<std::remove_pointer_t<Type>>) {
        return (Type)value; // also removes const
    } else if constexpr (std::is_pointer_v<Type> && std::is_integral_v<Value>) {
        return reinterpret_cast<Type>(static_cast<std::uintptr_t>(value));
    } else if constexpr (std::is_integral_v<Type> && std::is_pointer_v<Value>) {
        return static_cast<Type>(reinterpret_cast<std::uintptr_t>(value));
    } else if constexpr (std::is_class_v<Type> && std::is_class_v<Value> &&
                         !std::is_same_v<Type, Value>) {
        return Argument(value).template as<Type>();
    } else {
        return static_cast<Type>(value);
    }
}

template <class Entry, class Function = std::remove_pointer_t<typename Entry::pfn>>
struct Of;

template <class Entry, class Result, class... Parameters>
struct Of<Entry, Result(Parameters...)> {
    template <class... Expressions>
    static Arguments arguments(Expressions... expressions) {
        return {Argument(to<Parameters>(expressions))...};
    }

    template <std::size_t... at>
    static Result apply(const Arguments &arguments, std::index_sequence<at...>) {
        return trace::function_of<Entry>()(arguments[at].template as<Parameters>()...);
    }

    static int call(const Arguments &arguments) {
        constexpr auto indices = std::index_sequence_for<Parameters...>();
        if constexpr (trace::is_status<Result>) {
            return static_cast<int>(apply(arguments, indices));
        } else {
            apply(arguments, indices);
            return trace::no_status;
        }
    }

    static std::vector<Parameter> parameters() { return {parameter<Parameters>()...}; }
};

bool takes_location(std::string_view arguments) {
    return arguments.find("place") != arguments.npos;
}

enum class Library { driver, runtime };

// The names in arguments.txt are members of Values.
struct Maker : Values {
    using Values::Values;
#define CALL(entry_point, library, names, ...)                                                     \
    Arguments make_##entry_point() {                                                               \
        return Of<cushim::entry::entry_point>::arguments(__VA_ARGS__);                             \
    }
#include "plausible_calls.inc"
#undef CALL
};

} // namespace

bool Call::takes(Kind kind) const {
    return std::any_of(parameters.begin(), parameters.end(),
                       [kind](const Parameter &parameter) { return parameter.kind == kind; });
}

const std::vector<Call> &calls() {
    static const std::vector<Call> all = {
#define CALL(entry_point, library, names, ...)                                                     \
    {&trace::Traced<cushim::entry::entry_point>::row,                                              \
     Library::library == Library::runtime,                                                         \
     Of<cushim::entry::entry_point>::parameters(),                                                 \
     names,                                                                                        \
     takes_location(#__VA_ARGS__),                                                                 \
     [](Values &values) { return static_cast<Maker &>(values).make_##entry_point(); },             \
     Of<cushim::entry::entry_point>::call},
#include "plausible_calls.inc"
#undef CALL
    };
    return all;
}

std::shared_ptr<Values> new_values(CUdevice device, CUdevice peer) {
    return std::make_shared<Maker>(device, peer);
}

} // namespace record::plausible
