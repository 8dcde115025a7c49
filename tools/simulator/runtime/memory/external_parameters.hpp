// Parameters of signals and waits on external semaphores, for both versions of the runtime API.
#pragma once

#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

#include <algorithm>
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
auto signals_of(const Parameters *given, unsigned int count) {
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals(count);
    std::transform(given, given + count, signals.begin(), signal_of<Parameters>);
    return signals;
}

template <class Parameters>
auto waits_of(const Parameters *given, unsigned int count) {
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits(count);
    std::transform(given, given + count, waits.begin(), wait_of<Parameters>);
    return waits;
}

// --- entry points, which ../forward/forwarded.txt lists

template <class Parameters>
cudaError_t signal_semaphores(const cudaExternalSemaphore_t *semaphores,
                              const Parameters *parameters, unsigned int count,
                              cudaStream_t stream) {
    require(parameters != nullptr || count == 0);
    const auto signals = signals_of(parameters, count);
    return CU(cuSignalExternalSemaphoresAsync)(semaphores_of(semaphores), signals.data(), count,
                                               stream_of(stream));
}

template <class Parameters>
cudaError_t wait_for_semaphores(const cudaExternalSemaphore_t *semaphores,
                                const Parameters *parameters, unsigned int count,
                                cudaStream_t stream) {
    require(parameters != nullptr || count == 0);
    const auto waits = waits_of(parameters, count);
    return CU(cuWaitExternalSemaphoresAsync)(semaphores_of(semaphores), waits.data(), count,
                                             stream_of(stream));
}

} // namespace sim::runtime
