// Semaphores of other APIs: imports, and the work that signals them and waits for them.
#include "../../cushim_sim.h"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/engine.hpp"
#include "engine/stream.hpp"
#include "interop/external.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

CUextSemaphore_st::CUextSemaphore_st(CUctx_st &owner, CUexternalSemaphoreHandleType handle_type,
                                     sim::Shared<sim::SemaphoreState> shared)
    : Object(own_kind), type(handle_type), timeline(handle_type == sim::importable_timeline),
      state(std::move(shared)) {
    context = &owner;
}

namespace sim {
namespace {

static_assert(SemaphoreState::own_magic == CUSHIM_SIM_SEMAPHORE_MAGIC);
static_assert(sizeof(SemaphoreState) == sizeof(cushim_sim_semaphore));
static_assert(offsetof(SemaphoreState, value) == offsetof(cushim_sim_semaphore, value));

void check_descriptor(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC &description, CUdevice device) {
    const int type = static_cast<int>(description.type);
    require(type >= CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD &&
            type <= CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32);
    require(!is_foreign_semaphore(type));
    require(type == importable_semaphore || type == importable_timeline, CUDA_ERROR_NOT_SUPPORTED);
    require(
        type != importable_timeline ||
            device_attribute(device, CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED) != 0,
        CUDA_ERROR_NOT_SUPPORTED);
    require(description.flags == 0 && all_zero(description.reserved));
#ifndef _WIN32
    // Recorded: only a timeline's descriptor is checked this early.
    require(type != importable_timeline || description.handle.fd >= 0);
#endif
}

// The state of an imported semaphore. Recorded: a memory descriptor is accepted too. It has no
// shared state, so no other process sees its signals.
Shared<SemaphoreState> state_in(platform::File file) {
    const bool memory = physical_memory_size(file) != 0;
    auto state = Shared<SemaphoreState>::open(std::move(file));
    if (!state && memory) {
        misuse("a memory descriptor is imported as a semaphore");
        state = Shared<SemaphoreState>::create();
    }
    require(static_cast<bool>(state), CUDA_ERROR_UNKNOWN);
    return state;
}

// Checks a batch of signals or waits: live handles, valid parameters. Recorded: a graph node may
// have semaphores that were destroyed with their context.
template <class Batch>
void check_batch(const Batch &batch) {
    for (std::size_t i = 0; i < batch.semaphores.size(); ++i) {
        if (!Registry::get().ended_with_context(batch.semaphores[i])) {
            checked_external(batch.semaphores[i]);
        }
        const auto &parameters = batch.parameters[i];
        // The flags apply to NvSci semaphores only, which cannot be imported here.
        require(parameters.flags == 0 && all_zero(parameters.reserved) &&
                all_zero(parameters.params.reserved));
    }
}

// Copies the API's arrays; fails for null arrays and an empty batch.
template <class Batch, class Parameters>
Batch copied(const CUexternalSemaphore *semaphores, const Parameters *parameters,
             unsigned int count) {
    require(semaphores != nullptr && parameters != nullptr && count != 0);
    return {{semaphores, semaphores + count}, {parameters, parameters + count}};
}

// The semaphore that enqueued work needs, unless it was destroyed meanwhile.
ExternalSemaphore &still_there(CUexternalSemaphore handle) {
    Object *object = Registry::get().find(handle);
    if (object == nullptr || !ExternalSemaphore::is(object->kind)) {
        throw Fault{
            Registry::get().refusal(handle, Kind::external_semaphore, CUDA_ERROR_ILLEGAL_ADDRESS)};
    }
    return *static_cast<ExternalSemaphore *>(object);
}

void signal(ExternalSemaphore &semaphore, std::uint64_t value) {
    auto &state = semaphore.state->value;
    if (!semaphore.timeline) {
        if (state.exchange(1) != 0) {
            misuse("signal of a semaphore that is already signaled, " + semaphore.describe());
        }
        return;
    }
    const std::uint64_t before = state.exchange(value);
    if (before > value) {
        misuse("a signal decreases a timeline from " + std::to_string(before) + " to " +
               std::to_string(value) + ", " + semaphore.describe());
    }
}

// One execution of a batch of waits, which complete one after the other.
struct Waiting {
    SemaphoreWaits batch;
    std::size_t met = 0;

    ExternalSemaphore &next() const { return still_there(batch.semaphores[met]); }
    std::uint64_t value() const { return batch.parameters[met].params.fence.value; }

    bool ready() const {
        const Object *object = Registry::get().find(batch.semaphores[met]);
        if (object == nullptr || !ExternalSemaphore::is(object->kind)) {
            return true; // run() then fails
        }
        const auto &semaphore = static_cast<const ExternalSemaphore &>(*object);
        const std::uint64_t now = semaphore.state->value.load();
        return semaphore.timeline ? now >= value() : now != 0;
    }
    void run() {
        for (; met < batch.semaphores.size(); ++met) {
            ExternalSemaphore &semaphore = next();
            std::uint64_t signalled = 1;
            // The wait resets a binary semaphore, unless another process is faster.
            const bool done = semaphore.timeline
                                  ? semaphore.state->value.load() >= value()
                                  : semaphore.state->value.compare_exchange_strong(signalled, 0);
            if (!done) {
                throw Again{};
            }
        }
    }
};

// Whether enqueued work needs the semaphore.
bool is_queued(const ExternalSemaphore &semaphore) {
    const auto names_it = [&](const auto *batch) {
        return batch != nullptr && std::find(batch->semaphores.begin(), batch->semaphores.end(),
                                             &semaphore) != batch->semaphores.end();
    };
    const auto needs_it = [&](const Ticket &ticket) {
        return names_it(std::any_cast<SemaphoreSignals>(&ticket->work.parameters)) ||
               names_it(std::any_cast<SemaphoreWaits>(&ticket->work.parameters));
    };
    return std::any_of(engine().busy.begin(), engine().busy.end(), [&](const Stream *stream) {
        return std::any_of(stream->queue.begin(), stream->queue.end(), needs_it);
    });
}

// A stream cannot use a semaphore of another context.
template <class Batch>
void check_context(const Batch &batch, const Stream &stream) {
    for (CUexternalSemaphore handle : batch.semaphores) {
        require(checked_external(handle).context == stream.context, CUDA_ERROR_INVALID_HANDLE);
    }
}

} // namespace

Work signal_work(SemaphoreSignals signals, const char *what) {
    check_batch(signals);
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    work.what = what;
    work.run = [signals](Stream &) {
        for (std::size_t i = 0; i < signals.semaphores.size(); ++i) {
            signal(still_there(signals.semaphores[i]), signals.parameters[i].params.fence.value);
        }
    };
    work.parameters = std::move(signals);
    return work;
}

Work wait_work(SemaphoreWaits waits, const char *what) {
    check_batch(waits);
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    work.what = what;
    work.enqueued = [waits](const Ticket &ticket) {
        auto waiting = std::make_shared<Waiting>(Waiting{waits});
        ticket->work.ready = [waiting] { return waiting->ready(); };
        ticket->work.run = [waiting](Stream &) { waiting->run(); };
    };
    work.parameters = std::move(waits);
    return work;
}

int make_semaphore_fd(std::uint64_t initial) {
    auto state = Shared<SemaphoreState>::create();
    if (!state) {
        return -1;
    }
    state->value = initial;
    return static_cast<int>(state.file().duplicate().release());
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuImportExternalSemaphore(
    OUT CUexternalSemaphore *extSem_out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc) {
    Context &context = current_context();
    require(extSem_out != nullptr && semHandleDesc != nullptr);
    check_descriptor(*semHandleDesc, context.device);
    auto state = state_in(duplicate_of(semHandleDesc->handle));
    take_over(semHandleDesc->handle); // unlike memory: on failure, the client keeps it
    *extSem_out =
        Registry::get().make<ExternalSemaphore>(context, semHandleDesc->type, std::move(state));
    return CUDA_SUCCESS;
}

EXPORT CUresult
cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray,
                                unsigned int numExtSems, CUstream stream) {
    Stream &on = stream_of(stream);
    auto signals = copied<SemaphoreSignals>(extSemArray, paramsArray, numExtSems);
    if (std::count(extSemArray, extSemArray + numExtSems, nullptr) != 0) {
        misuse("signal of a null semaphore; the recorded driver crashes the process here");
    }
    check_context(signals, on);
    submit(on, signal_work(std::move(signals), "cuSignalExternalSemaphoresAsync"));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuWaitExternalSemaphoresAsync(
    const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
    unsigned int numExtSems, CUstream stream) {
    Stream &on = stream_of(stream);
    auto waits = copied<SemaphoreWaits>(extSemArray, paramsArray, numExtSems);
    check_context(waits, on);
    submit(on, wait_work(std::move(waits), "cuWaitExternalSemaphoresAsync"));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDestroyExternalSemaphore(CUexternalSemaphore extSem) {
    ExternalSemaphore &semaphore = checked_external(extSem);
    if (is_queued(semaphore)) {
        misuse("enqueued work still needs " + semaphore.describe());
    }
    Registry::get().destroy(&semaphore);
    return CUDA_SUCCESS;
}

} // namespace sim::driver
