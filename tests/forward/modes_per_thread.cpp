#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include "modes.hpp"

#include <cushim/table.hpp>

#include "modes_calls.inc"

support::SpelledCalls support::per_thread_calls() {
    return calls;
}
