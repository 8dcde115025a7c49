// Parameters of signals and waits on external semaphores, for both versions of the runtime API.
#pragma once

#include "runtime/base/runtime_headers.hpp"

#include <vector>

namespace sim::runtime {

template <class Parameters>
CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal_of(const Parameters &given) {
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    signal.params.fence.value = given.params.fence.value;
    signal.params.nvSciSync.reserved = given.params.nvSciSync.reserved;
    signal.params.keyedMutex.key = given.params.keyedMutex.key;
    signal.flags = given.flags;
    return signal;
}

template <class Parameters>
CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait_of(const Parameters &given) {
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    wait.params.fence.value = given.params.fence.value;
    wait.params.nvSciSync.reserved = given.params.nvSciSync.reserved;
    wait.params.keyedMutex.key = given.params.keyedMutex.key;
    wait.params.keyedMutex.timeoutMs = given.params.keyedMutex.timeoutMs;
    wait.flags = given.flags;
    return wait;
}

template <class Parameters>
std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals_of(const Parameters *given,
                                                              unsigned int count) {
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals;
    for (unsigned int index = 0; index < count; ++index) {
        signals.push_back(signal_of(given[index]));
    }
    return signals;
}

template <class Parameters>
std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits_of(const Parameters *given,
                                                          unsigned int count) {
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits;
    for (unsigned int index = 0; index < count; ++index) {
        waits.push_back(wait_of(given[index]));
    }
    return waits;
}

} // namespace sim::runtime
