// Dependencies between operations: order within a stream, the legacy stream, barriers.
#include "engine/context.hpp"
#include "engine/mode.hpp"
#include "engine/threads.hpp"

#include <algorithm>

namespace sim {
namespace {

// Appends the stream's newest ordered operation and its operations that do not precede it.
void append_queued(std::vector<Ticket> &tickets, const Stream &stream) {
    if (stream.last) {
        tickets.push_back(stream.last);
    }
    if (stream.loose != 0) {
        std::copy_if(stream.queue.begin(), stream.queue.end(), std::back_inserter(tickets),
                     [](const Ticket &t) { return !t->ordered && !t->covered && !t->done; });
    }
}

// Calls function(other) for the streams of the group that have work and synchronize with its legacy
// stream.
template <class Function>
void for_each_blocking(const StreamGroup &group, const Function &function) {
    for (const Stream *other : engine().busy) {
        if (other->group == &group && other != group.legacy && other->blocking()) {
            function(*other);
        }
    }
}

// An operation of the stream that precedes later ordered ones does not delay waits any more.
void cover(Operation &operation) noexcept {
    operation.covered = true;
    --operation.stream->loose;
}

} // namespace

void come_after(Operation &operation, const Ticket &earlier) {
    if (!earlier) {
        return;
    }
    if (earlier->done) {
        operation.begin_ns = std::max(operation.begin_ns, earlier->time_ns);
    } else {
        operation.after.push_back(earlier);
        earlier->followers.push_back(operation.shared_from_this());
        ++operation.waits_for;
    }
}

void put_in_order(Operation &operation, Stream &stream) {
    come_after(operation, stream.last);
    StreamGroup &group = *stream.group;
    if (stream.legacy) {
        come_after(operation, group.latest_blocking);
        for_each_blocking(group, [&](const Stream &other) { come_after(operation, other.last); });
    } else if (stream.blocking() && group.legacy != nullptr) {
        come_after(operation, group.legacy->last);
    }
    std::erase_if(group.barriers, [&](const Ticket &ticket) {
        group.barrier_ns = std::max(group.barrier_ns, ticket->time_ns);
        return ticket->done;
    });
    operation.begin_ns = std::max(operation.begin_ns, group.barrier_ns);
    for (const Ticket &barrier : group.barriers) {
        come_after(operation, barrier);
    }
}

std::vector<Ticket> queued_in(Stream &stream) {
    std::vector<Ticket> tickets;
    append_queued(tickets, stream);
    if (stream.legacy) {
        if (stream.group->latest_blocking) {
            tickets.push_back(stream.group->latest_blocking);
        }
        for_each_blocking(*stream.group,
                          [&](const Stream &other) { append_queued(tickets, other); });
    }
    return tickets;
}

std::vector<Ticket> all_queued(CUctx_st &context) {
    std::vector<Ticket> tickets;
    for_each_group(context, [&](const StreamGroup &group) {
        if (group.latest) {
            tickets.push_back(group.latest);
        }
    });
    for (const Stream *stream : engine().busy) {
        if (belongs_to(*stream, context)) {
            append_queued(tickets, *stream);
        }
    }
    return tickets;
}

void forget_streams(const CUctx_st &context) noexcept {
    const auto group = engine().groups.find(&context);
    if (group != engine().groups.end() && group->second.streams == 0) {
        engine().groups.erase(group);
    }
}

void add_barrier(CUctx_st &context, const Ticket &ticket) {
    if (!ticket) {
        return;
    }
    const auto add = [&ticket](CUctx_st &one) {
        StreamGroup &group = engine().groups[&one];
        group.context = &one;
        group.barriers.push_back(ticket);
    };
    add(context);
    for (CUctx_st *green : context.greens) {
        add(*green);
    }
}

void cover_predecessors(const Operation &operation) noexcept try {
    std::vector<Operation *> open;
    const auto visit = [&](const Ticket &earlier) {
        if (!earlier->done && !earlier->ordered && !earlier->covered &&
            earlier->stream == operation.stream) {
            cover(*earlier);
            open.push_back(earlier.get());
        }
    };
    std::for_each(operation.after.begin(), operation.after.end(), visit);
    while (!open.empty()) {
        const Operation &next = *open.back();
        open.pop_back();
        std::for_each(next.after.begin(), next.after.end(), visit);
    }
} catch (...) { // out of memory: waits name those that are not covered
}

void reserve_ready(const Operation &operation) {
    Engine &e = engine();
    Stream &stream = *operation.stream;
    e.ready.reserve(e.queued + 1);
    stream.ready.reserve(stream.queue.size());
    if (operation.work.ready) {
        stream.polled.reserve(stream.queue.size());
        e.polling.reserve(e.busy.size() + 1);
    }
}

void become_ready(Operation &operation) noexcept {
    Engine &e = engine();
    Stream &stream = *operation.stream;
    if (operation.work.ready) {
        if (stream.polled.empty()) {
            e.polling.add(stream);
        }
        stream.polled.add(operation);
    } else {
        e.ready.add(operation);
        stream.ready.add(operation);
        for_each_mode([&](RunMode &mode) { mode.ready(operation); });
    }
    put_in_line(stream);
}

void end_ready(Operation &operation) noexcept {
    Engine &e = engine();
    Stream &stream = *operation.stream;
    if (operation.in_ready != 0) {
        e.ready.remove(operation);
        stream.ready.remove(operation);
        for_each_mode([&](RunMode &mode) { mode.not_ready(operation); });
    } else if (operation.in_stream != 0) {
        stream.polled.remove(operation);
        if (stream.polled.empty()) {
            e.polling.remove(stream);
        }
    }
}

void release_followers(Operation &operation) noexcept {
    for (const Ticket &follower : operation.followers) {
        if (!follower->done) {
            follower->begin_ns = std::max(follower->begin_ns, operation.time_ns);
            if (--follower->waits_for == 0) {
                follower->after.clear();
                become_ready(*follower);
            }
        }
    }
    operation.followers.clear();
}

bool is_runnable(const Operation &operation) {
    if (operation.running || operation.done || operation.waits_for != 0) {
        return false;
    }
    // Operations of a failed context no longer wait.
    return operation.stream->context->sticky != CUDA_SUCCESS || operation.fault != CUDA_SUCCESS ||
           !operation.work.ready || operation.work.ready();
}

Ticket runnable_of(const Stream &stream) {
    Operation *first = stream.ready.empty() ? nullptr : &stream.ready.first();
    for (Operation *operation : stream.polled) {
        if ((first == nullptr || is_older(*operation, *first)) && is_runnable(*operation)) {
            first = operation;
        }
    }
    return first != nullptr ? first->shared_from_this() : nullptr;
}

std::vector<Operation *> runnable_polled() {
    std::vector<Operation *> found;
    for (const Stream *stream : engine().polling) {
        std::copy_if(stream->polled.begin(), stream->polled.end(), std::back_inserter(found),
                     [](const Operation *operation) { return is_runnable(*operation); });
    }
    return found;
}

} // namespace sim
