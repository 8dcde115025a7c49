// A plausible call of each entry point (arguments.txt).
#pragma once

#include "../trace.hpp"
#include "values.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace record::plausible {

// An argument of any type.
struct Argument {
    alignas(16) std::byte bytes[64] = {};

    Argument() = default;
    template <class Value>
    explicit Argument(const Value &value) {
        static_assert(sizeof value <= sizeof bytes);
        std::memcpy(bytes, &value, sizeof value);
    }
    template <class Value>
    Value as() const {
        Value value;
        std::memcpy(static_cast<void *>(&value), bytes, sizeof value);
        return value;
    }
};
using Arguments = std::vector<Argument>;

// What a parameter is to a call, by its type.
enum class Kind { stream, handle, pointer, enumeration, number, structure };

struct Parameter {
    Kind kind;
    std::size_t bytes;
};

struct Call {
    trace::Row *row;
    bool runtime;
    std::vector<Parameter> parameters;
    const char *names;                       // of the parameters, with spaces between them
    bool takes_location;                     // the value of Values::set_place()
    Arguments (*make)(Values &values);       // of new_values()
    int (*call)(const Arguments &arguments); // returns the status, or trace::no_status

    const char *name() const { return row->name; }
    bool takes(Kind kind) const;
};

const std::vector<Call> &calls();
std::shared_ptr<Values> new_values(CUdevice device, CUdevice peer);

} // namespace record::plausible
