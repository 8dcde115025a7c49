// Creation and destruction of streams: created streams, legacy streams, per-thread streams.
#include "engine/stream.hpp"
#include "base/shared_state.hpp"
#include "base/thread_number.hpp"
#include "call/call.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/threads.hpp"

#include <cstring>

namespace {

constexpr int synchronization_policy = 3; // old headers use another name

} // namespace

CUstream_st::CUstream_st(CUctx_st &owner, unsigned int its_flags, int its_priority)
    : Object(own_kind), flags(its_flags), priority(its_priority),
      id(sim::engine().next_stream_id++), group(&sim::engine().groups[&owner]) {
    // Recorded: before it is set, the policy has a value that no enumerator names.
    auto &policy = attributes[synchronization_policy].syncPolicy;
    std::memset(&policy, 0xff, sizeof policy);
    context = &sim::owner_of(owner);
    group->context = &owner;
    blocks = owner.green == nullptr && (flags & CU_STREAM_NON_BLOCKING) == 0;
    ++group->streams;
}

CUstream_st::~CUstream_st() {
    sim::leave_line(*this);
    // Work that is still enqueued at this point (after a reset or a failure) is dropped.
    std::erase_if(queue, [](const sim::Ticket &operation) { return operation->done; });
    for (const sim::Ticket &operation : queue) {
        sim::end_ready(*operation);
        operation->after.clear();
        operation->done = true;
        operation->result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
        operation->stream = nullptr;
    }
    for (const sim::Ticket &operation : queue) {
        sim::release_followers(*operation);
    }
    if (!queue.empty()) {
        sim::engine().queued -= queue.size();
        sim::engine().busy.remove(*this);
    }
    --group->streams;
    if (group->legacy == this) {
        group->legacy = nullptr;
    }
    if (per_thread && !ended) {
        sim::engine().thread_streams.erase({thread, group->context});
    }
}

CUevent_st::CUevent_st(CUctx_st &owner, unsigned int its_flags)
    : Object(own_kind), flags(its_flags) {
    context = &owner;
}

CUevent_st::~CUevent_st() {
    if (shared && shared->own()) {
        shared->destroyed();
    }
}

namespace sim {
namespace {

// Destroys a thread's own streams when the thread ends.
struct ThreadStreams {
    const std::uint64_t thread;

    ~ThreadStreams() {
        const std::lock_guard held(Lock::mutex());
        const auto &all = engine().thread_streams;
        const auto first = [&] { return all.lower_bound({thread, nullptr}); };
        for (auto next = first(); next != all.end() && next->first.first == thread;
             next = first()) {
            end_stream(*next->second);
        }
    }
};

} // namespace

CUctx_st &context_of(const Stream &stream) noexcept {
    return *stream.group->context;
}

bool belongs_to(const Stream &stream, const CUctx_st &context) noexcept {
    return stream.group->context == &context || stream.context == &context;
}

CUstream_st &legacy_stream(CUctx_st &context) {
    StreamGroup &group = engine().groups[&context];
    if (group.legacy == nullptr) {
        Stream *stream = Registry::get().make<Stream>(context, CU_STREAM_DEFAULT, 0);
        stream->counted = false;
        stream->legacy = true;
        group.legacy = stream;
    }
    return *group.legacy;
}

CUstream_st &thread_stream(CUctx_st &context) {
    const std::uint64_t thread = thread_number();
    static thread_local const ThreadStreams streams{thread};
    const std::pair key(thread, &context);
    if (const auto found = engine().thread_streams.find(key);
        found != engine().thread_streams.end()) {
        return *found->second;
    }
    Stream *const own = Registry::get().make<Stream>(context, CU_STREAM_DEFAULT, 0);
    own->counted = false;
    own->per_thread = true;
    own->thread = thread;
    engine().thread_streams.emplace(key, own);
    return *own;
}

CUstream_st &stream_of(CUstream handle) {
    const Call *call = Call::current();
    if (handle == CU_STREAM_PER_THREAD ||
        (handle == nullptr && call != nullptr && call->per_thread_stream())) {
        Context &context = current_exact_context();
        require(context.green == nullptr, CUDA_ERROR_INVALID_HANDLE); // as recorded
        return thread_stream(context);
    }
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        return legacy_stream(current_exact_context());
    }
    Stream &stream = checked(handle);
    check_usable(*stream.context);
    return stream;
}

Stream &stream_of_caller(CUstream handle) {
    const bool of_context =
        handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
    require(!of_context || !in_host_function(), CUDA_ERROR_NOT_PERMITTED, host_function_calls);
    return stream_of(handle);
}

void end_stream(CUstream_st &stream, bool with_context) {
    if (stream.capture) {
        leave_capture(stream);
    }
    stream.ended = true;
    if (stream.per_thread) {
        engine().thread_streams.erase({stream.thread, stream.group->context});
    }
    Registry::get().retire(&stream, with_context);
    destroy_if_over(stream);
}

void destroy_if_over(CUstream_st &stream) {
    if (stream.ended && stream.queue.empty() && stream.users == 0) {
        Registry::get().destroy(&stream);
    }
}

InUse::InUse(Stream &stream) noexcept : stream_(stream) {
    ++stream.users;
    ++stream.context->users;
}

InUse::~InUse() {
    --stream_.users;
    --stream_.context->users;
    destroy_if_over(stream_);
    Lock::changed().notify_all();
}

} // namespace sim
