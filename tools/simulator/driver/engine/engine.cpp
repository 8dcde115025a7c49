// Enqueues operations and runs them.
#include "base/immortal.hpp"
#include "call/call.hpp"
#include "call/lifecycle.hpp"
#include "call/misuse.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/memory.hpp"
#include "engine/mode.hpp"
#include "engine/threads.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace sim {
namespace {

// Reports the failure of an operation. Every context that fails has a line with the reason.
CUresult reported(const Operation &operation, CUresult status, std::uint64_t misuses_before) {
    if (is_sticky(status) && misuses_of_thread() == misuses_before && !operation.done) {
        misuse(describe(operation) + " failed with " + std::to_string(static_cast<int>(status)) +
               ": it was valid when enqueued, but is no longer valid");
    }
    return status;
}

// Runs the work, or fails it as planned. Its errors are its result.
CUresult run_work(Operation &operation, Stream &stream) {
    Work &work = operation.work;
    const CUresult failed =
        stream.context->sticky != CUDA_SUCCESS ? stream.context->sticky : operation.fault;
    const std::uint64_t misuses = misuses_of_thread();
    try {
        const ContextScope scope(*stream.context);
        if (failed != CUDA_SUCCESS) {
            if (work.otherwise) {
                work.otherwise(stream, failed);
            }
            return failed;
        }
        if (work.run) {
            work.run(stream);
        }
        return CUDA_SUCCESS;
    } catch (const Again &) {
        throw;
    } catch (const Fault &fault) {
        return fault.intended ? fault.status : reported(operation, fault.status, misuses);
    } catch (const Refusal &refusal) {
        forget_reasons();
        const bool is_invalid = refusal.status == CUDA_ERROR_INVALID_VALUE;
        return reported(operation, is_invalid ? CUDA_ERROR_ILLEGAL_ADDRESS : refusal.status,
                        misuses);
    } catch (const std::bad_alloc &) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
        misuse(std::string("an exception was thrown by the work of ") + work.what);
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

void note_error(Stream &stream, CUresult result) {
    if (is_sticky(result)) {
        fail_context(*stream.context, result);
    } else if (stream.group->error == CUDA_SUCCESS) {
        stream.group->error = result;
    }
}

void note_end(StreamGroup &group, const Stream &stream, const Ticket &operation) {
    const auto note = [&operation](Ticket &latest) {
        if (!latest || latest->time_ns < operation->time_ns) {
            latest = operation;
        }
    };
    note(group.latest);
    if (stream.blocking()) {
        note(group.latest_blocking);
    }
}

void unqueue(Stream &stream, const Ticket &operation) {
    auto &queue = stream.queue;
    while (!queue.empty() && queue.front()->done) {
        queue.pop_front();
    }
    if (operation->ordered) {
        note_end(*stream.group, stream, operation);
    } else if (!operation->covered) {
        --stream.loose;
    }
    --engine().queued;
    if (queue.empty()) {
        engine().busy.remove(stream);
        destroy_if_over(stream);
    }
}

// Everything that can fail. On failure, the operation is not in the queue.
void put_into_queue(const Ticket &operation, Stream &stream, const std::vector<Ticket> &after) {
    Engine &e = engine();
    e.busy.reserve(e.busy.size() + 1);
    if (operation->ordered) {
        put_in_order(*operation, stream);
    }
    for (const Ticket &ticket : after) {
        come_after(*operation, ticket);
    }
    for_each_mode([&](RunMode &mode) { mode.enqueue(*operation); });
    stream.queue.push_back(operation);
    try {
        if (operation->work.enqueued) {
            operation->work.enqueued(operation);
        }
        run_mode().prepare(stream, operation->work);
        reserve_ready(*operation);
    } catch (...) {
        stream.queue.pop_back();
        throw;
    }
}

Ticket put(CUstream_st &stream, Work &&work, const std::vector<Ticket> &after, bool ordered) {
    Engine &e = engine();
    const Ticket operation = std::make_shared<Operation>(stream, std::move(work), ordered);
    operation->number = e.next_number++;
    operation->begin_ns = e.host_ns;
    operation->fault = operation->work.fault;
    if (Call *call = Call::current(); call && operation->fault == CUDA_SUCCESS) {
        operation->fault = call->take_async_fault();
    }
    const bool was_idle = stream.queue.empty();
    try {
        put_into_queue(operation, stream, after);
    } catch (...) {
        operation->done = true; // an event that refers to it is complete
        operation->after.clear();
        throw;
    }
    ++e.queued;
    if (was_idle) {
        stream.busy_since = ++e.times_busy;
        e.busy.add(stream);
        for_each_mode([&](RunMode &mode) { mode.busy(stream); });
    }
    if (ordered) {
        cover_predecessors(*operation);
        stream.last = operation;
    } else {
        ++stream.loose;
    }
    hold(operation->work);
    if (operation->work.accepted) {
        operation->work.accepted();
    }
    ++e.progress;
    if (operation->waits_for == 0) {
        become_ready(*operation);
    }
    run_mode().run_new_work();
    return operation;
}

} // namespace

Operation::Operation(CUstream_st &its_stream, Work &&its_work, bool is_ordered)
    : work(std::move(its_work)), stream(&its_stream), context(&context_of(its_stream)),
      ordered(is_ordered) {}

std::string describe(const Operation &operation) {
    return std::string(operation.work.what) + " (operation " + std::to_string(operation.number) +
           ") in " + operation.stream->describe();
}

RunMode &run_mode() noexcept {
    static RunMode *last = &immediate_mode();
    RunMode *const selected = settings().mode == Mode::immediate  ? &immediate_mode()
                              : settings().mode == Mode::threaded ? &threaded_mode()
                                                                  : &adversarial_mode();
    if (selected != last) {
        last = selected;
        selected->enter();
    }
    return *selected;
}

Engine &engine() noexcept {
    static Immortal<Engine> engine;
    return *engine;
}

bool &executing() noexcept {
    static thread_local bool inside = false;
    return inside;
}

bool is_sticky(CUresult status) noexcept {
    switch (status) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
#if CUDA_VERSION >= 12080
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
#endif
        return true;
    default:
        return false;
    }
}

Ticket submit(CUstream_st &stream, Work work) {
    check_usable(*stream.context);
    if (captured(stream, work)) {
        return nullptr;
    }
    return put(stream, std::move(work), {}, true);
}

Ticket enqueue(CUstream_st &stream, Work work, std::vector<Ticket> after, bool ordered) {
    return put(stream, std::move(work), after, ordered);
}

void execute(Ticket operation) {
    Engine &e = engine();
    Stream &stream = *operation->stream;
    bool &inside = executing();
    const bool was_inside = std::exchange(inside, true);
    end_ready(*operation);
    operation->running = true;
    ++e.running;
    bool again = false;
    CUresult result = CUDA_SUCCESS;
    try {
        result = run_work(*operation, stream);
    } catch (const Again &) {
        again = true;
    }
    --e.running;
    operation->running = false;
    inside = was_inside;
    if (operation->done) {
        return; // removed meanwhile
    }
    if (again) {
        ++e.progress;
        become_ready(*operation);
        Lock::changed().notify_all();
    } else {
        if (result != CUDA_SUCCESS && stream.context->sticky == CUDA_SUCCESS) {
            note_error(stream, result);
        }
        operation->begin_ns += operation_ns;
        finish(operation, result);
    }
}

void finish(const Ticket &operation, CUresult result) {
    Engine &e = engine();
    Stream &stream = *operation->stream;
    end_ready(*operation);
    operation->result = result;
    operation->done = true;
    operation->time_ns = operation->begin_ns;
    operation->stream = nullptr;
    operation->after.clear();
    release_followers(*operation);
    const Work work = std::move(operation->work); // releases the resources of the work here
    release(work);
    ++e.progress;
    unqueue(stream, operation);
    Lock::changed().notify_all();
}

void stop_engine() {
    Engine &e = engine();
    end_workers();
    if (is_forked()) {
        e.running = e.waiting = 0; // those threads exist in the parent only
    }
    // Cut the links first, so that destructors do not recurse along them.
    for (Stream *stream : e.busy) {
        for (const Ticket &operation : stream->queue) {
            operation->after.clear();
            operation->followers.clear();
        }
    }
    for (Stream *stream : std::vector<Stream *>(e.busy.begin(), e.busy.end())) {
        for (const Ticket &operation :
             std::vector<Ticket>(stream->queue.begin(), stream->queue.end())) {
            if (!operation->running && !operation->done) {
                finish(operation, CUDA_ERROR_CONTEXT_IS_DESTROYED);
            }
        }
    }
    std::erase_if(e.groups, [](const auto &entry) { return entry.second.streams == 0; });
    for (auto &[context, group] : e.groups) { // the registry destroys their streams
        group.barriers.clear();
        group.latest.reset();
        group.latest_blocking.reset();
        group.barrier_ns = 0;
        group.error = CUDA_SUCCESS;
    }
    e.next_number = 1;
    e.next_stream_id = 1;
    e.host_ns = 0;
    for_each_mode([](RunMode &mode) { mode.restart(); });
}

} // namespace sim
