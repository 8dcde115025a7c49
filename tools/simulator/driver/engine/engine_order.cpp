// Dependencies between operations: order within a stream, the legacy stream, barriers.
#include "engine/context.hpp"
#include "engine/engine.hpp"

#include <algorithm>

namespace sim {
namespace {

// Appends the stream's newest ordered operation and its operations that are not ordered with it.
void append_queued(std::vector<Ticket> &tickets, const Stream &stream) {
    if (stream.last) {
        tickets.push_back(stream.last);
    }
    if (stream.loose != 0) {
        std::copy_if(stream.queue.begin(), stream.queue.end(), std::back_inserter(tickets),
                     [](const Ticket &ticket) { return !ticket->ordered; });
    }
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
    }
}

void put_in_order(Operation &operation, Stream &stream) {
    come_after(operation, stream.last);
    StreamGroup &group = *stream.group;
    if (stream.legacy) {
        for (const Stream *other : group.streams) {
            if (other != &stream && other->blocking()) {
                come_after(operation, other->last);
            }
        }
    } else if (stream.blocking() && group.legacy != nullptr) {
        come_after(operation, group.legacy->last);
    }
    std::erase_if(group.barriers, [&](const Ticket &ticket) {
        group.barrier_ns = std::max(group.barrier_ns, ticket->time_ns);
        return ticket->done;
    });
    operation.begin_ns = std::max(operation.begin_ns, group.barrier_ns);
    operation.after.insert(operation.after.end(), group.barriers.begin(), group.barriers.end());
}

std::vector<Ticket> queued_in(Stream &stream) {
    std::vector<Ticket> tickets;
    append_queued(tickets, stream);
    if (stream.legacy) {
        for (const Stream *other : stream.group->streams) {
            if (other != &stream && other->blocking()) {
                append_queued(tickets, *other);
            }
        }
    }
    return tickets;
}

std::vector<Ticket> all_queued(CUctx_st &context) {
    std::vector<Ticket> tickets;
    const auto group = engine().groups.find(&context);
    if (group != engine().groups.end()) {
        for (const Stream *stream : group->second.streams) {
            append_queued(tickets, *stream);
        }
    }
    return tickets;
}

void add_barrier(CUctx_st &context, const Ticket &ticket) {
    if (ticket) {
        StreamGroup &group = engine().groups[&context];
        group.context = &context;
        group.barriers.push_back(ticket);
    }
}

bool is_free(Operation &operation) noexcept {
    auto &after = operation.after;
    while (!after.empty() && after.back()->done) {
        operation.begin_ns = std::max(operation.begin_ns, after.back()->time_ns);
        after.pop_back();
    }
    return after.empty();
}

bool is_runnable(Operation &operation) {
    if (operation.running || operation.done || !is_free(operation)) {
        return false;
    }
    // Operations of a failed context no longer wait.
    return operation.stream->context->sticky != CUDA_SUCCESS || operation.fault != CUDA_SUCCESS ||
           !operation.work.ready || operation.work.ready();
}

void append_runnable_of(Stream &stream, std::vector<Ticket> &found) {
    bool ordered_seen = false; // only the first ordered one can run
    for (const Ticket &operation : stream.queue) {
        if ((!operation->ordered || !ordered_seen) && is_runnable(*operation)) {
            found.push_back(operation);
        }
        ordered_seen = ordered_seen || operation->ordered;
        if (ordered_seen && stream.loose == 0) {
            return;
        }
    }
}

Ticket runnable_of(Stream &stream) {
    bool ordered_seen = false;
    for (const Ticket &operation : stream.queue) {
        if ((!operation->ordered || !ordered_seen) && is_runnable(*operation)) {
            return operation;
        }
        ordered_seen = ordered_seen || operation->ordered;
        if (ordered_seen && stream.loose == 0) {
            break;
        }
    }
    return nullptr;
}

} // namespace sim
