#include "launches.hpp"

#include "context/stream_context.hpp"

namespace cushim::detail {

Launches::End Launches::end() noexcept {
    if (!is_end_current_) {
        end_ = StreamEnd(stream_.share());
        end_.record();
        is_end_current_ = true;
    }
    is_event_shared_ = true;
    return {end_.share(), before_doubtful_.share()};
}

void Launches::note_doubtful(const Stream &stream) noexcept {
    // Two ends are stored, but not those of two doubtful launches in turn.
    const bool was_unknown = is_end_unknown_ || before_doubtful_;
    StreamEnd before = end().last;
    note_other(stream);
    in_ = nullptr; // so that the next launch ends the doubt
    before_doubtful_ = std::move(before);
    is_end_unknown_ = is_end_unknown_ || was_unknown;
}

void Launches::note_other(const Stream &stream) noexcept {
    is_end_unknown_ = false; // earlier launches end before this one
    before_doubtful_ = StreamEnd();
    if (notes_end(stream)) {
        stream_ = stream.share();
        in_ = Access::state(stream);
        is_end_current_ = false;
        return;
    }
    stream_.reset();
    in_ = nullptr;
    is_end_current_ = true;
    const Result<void> recorded = record(stream);
    if (recorded) {
        end_ = StreamEnd(event_.share());
        return;
    }
    // Without an event, waits at once if possible.
    const Error &error = recorded.error();
    report_teardown({error, event_.native()});
    end_ = StreamEnd();
    is_end_unknown_ = !stream.synchronize();
}

// An event can only be recorded in streams of its own context, which it keeps alive if the
// executable graph does.
Result<void> Launches::record(const Stream &stream) noexcept {
    CUSHIM_TRY(Context context, context_of(stream));
    if (context.native() == exec_.context) {
        context = exec_.shared_context();
    }
    if (!event_ || is_event_shared_ || context.native() != event_in_) {
        CUSHIM_TRY(event_, Event::create(context, {.timing = false}));
        event_in_ = context.native();
        is_event_shared_ = false;
    }
    return event_.record(stream);
}

} // namespace cushim::detail
