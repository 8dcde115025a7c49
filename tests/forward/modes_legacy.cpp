#include "modes.hpp"

#include <cushim/table.hpp>

#include "modes_calls.inc"

support::SpelledCalls support::legacy_calls() {
    return calls;
}
