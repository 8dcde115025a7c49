#include "engine/event_work.hpp"
#include "base/shared_state.hpp"
#include "call/misuse.hpp"
#include "engine/capture.hpp"
#include "engine/engine.hpp"
#include "engine/stream.hpp"

namespace sim {
namespace {

// The event, or null if it was destroyed after the work was made.
Event *living(CUevent handle) {
    Object *object = Registry::get().find(handle);
    return object != nullptr && Event::is(object->kind) ? static_cast<Event *>(object) : nullptr;
}

// A record of an IPC event.
struct SharedRecord {
    std::shared_ptr<SharedEvent> event;
    std::uint64_t number = 0;
    void end() const { event->end_record(number); }
};

// Allocates first: a record that has begun must end.
void begin_record(Event &event, const Ticket &operation) {
    if (event.shared) {
        const auto record = std::make_shared<SharedRecord>(SharedRecord{event.shared});
        operation->work.run = [record](Stream &) { record->end(); };
        // A record that never runs still ends, so that no process waits for it.
        operation->work.otherwise = [record](Stream &, CUresult) { record->end(); };
        record->number = event.shared->begin_record();
    }
    event.recorded = operation;
    event.captured_in.reset();
    event.captured_node = nullptr;
}

void begin_wait(const Event &event, const Ticket &operation) {
    come_after(*operation, event.recorded);
    if (event.shared) {
        operation->work.ready = [shared = event.shared, number = event.shared->newest()] {
            return shared->reached(number);
        };
    }
}

// Reports a graph whose node refers to a destroyed event.
void report_dead(const Operation &operation) {
    misuse(std::string(operation.work.what) + " of a destroyed event");
}

} // namespace

Work event_record_work(CUevent handle, const char *what) {
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    work.what = what;
    work.parameters = handle;
    work.enqueued = [handle](const Ticket &operation) {
        if (Event *event = living(handle)) {
            begin_record(*event, operation);
        } else {
            report_dead(*operation);
        }
    };
    return work;
}

Work event_wait_work(CUevent handle, const char *what) {
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    work.what = what;
    work.parameters = handle;
    work.enqueued = [handle](const Ticket &operation) {
        if (const Event *event = living(handle)) {
            begin_wait(*event, operation);
        } else {
            report_dead(*operation);
        }
    };
    return work;
}

// In both, the operation is not ordered with any stream; the legacy stream only holds it.
void record_all(Context &context, Event &event, const char *what) {
    require(event.context == &owner_of(context), CUDA_ERROR_INVALID_HANDLE);
    refuse_capturing(context);
    enqueue(legacy_stream(context), event_record_work(&event, what), all_queued(context), false);
}

void delay_all(Context &context, Event &event, const char *what) {
    refuse_capturing(context);
    refuse_captured(event);
    Stream &stream = legacy_stream(context);
    const InUse in_use(stream);
    add_barrier(context, enqueue(stream, event_wait_work(&event, what), {}, false));
}

} // namespace sim
