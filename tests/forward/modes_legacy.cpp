#include "modes.hpp"

#include <cushim/table.hpp>

#include "modes_calls.inc"

cushim_test::SpelledCalls cushim_test::legacy_calls() {
    return calls;
}
