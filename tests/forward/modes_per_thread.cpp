#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include "modes.hpp"

#include <cushim/table.hpp>

#include "modes_calls.inc"

cushim_test::SpelledCalls cushim_test::per_thread_calls() {
    return calls;
}
