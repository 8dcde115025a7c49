// Plausible calls while a stream captures. Each line lists, for the capture modes global,
// thread-local and relaxed, the statuses of the call by the thread that captures (`own`), by
// another thread (`other`), and, for calls with a stream, in the capturing stream (`inside`). `!`
// stands for a capture that the call invalidated (901 at its end); `(1,904)` for another state of
// the capture after the call, and the status of its end; `(gone)` for a capture whose stream or
// context the call destroyed.
#include "asking.hpp"

#include <thread>

namespace record::plausible {

namespace {

enum class Caller { own, other, inside };

struct Situation {
    Caller caller;
    CUstreamCaptureMode mode;
};

constexpr Situation situations[] = {
    {Caller::own, CU_STREAM_CAPTURE_MODE_GLOBAL},
    {Caller::own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
    {Caller::own, CU_STREAM_CAPTURE_MODE_RELAXED},
    {Caller::other, CU_STREAM_CAPTURE_MODE_GLOBAL},
    {Caller::other, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
    {Caller::other, CU_STREAM_CAPTURE_MODE_RELAXED},
    {Caller::inside, CU_STREAM_CAPTURE_MODE_GLOBAL},
    {Caller::inside, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
    {Caller::inside, CU_STREAM_CAPTURE_MODE_RELAXED},
};
constexpr unsigned int situation_count = std::size(situations);

struct CaptureAnswer : Answer {
    bool ended; // the capture
    int capture, end;
};

// The device of the call; the capture is one of device 0.
bool use_device(CUdevice device) {
    CUcontext of = context();
    return (device == 0 || d.cuDevicePrimaryCtxRetain(&of, device) == CUDA_SUCCESS) &&
           d.cuCtxSetCurrent(of) == CUDA_SUCCESS;
}

bool ask_one(const Call &call, const Situation &situation, CUdevice device, CaptureAnswer &answer) {
    if (!prepare(call)) {
        return false;
    }
    const CUstream capturing = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    use_device(device);
    const auto values = new_values(device, device);
    Arguments arguments = call.make(*values);
    answer.made = values->complete();
    if (!answer.made) {
        return finish(call, answer);
    }
    for (std::size_t i = 0; situation.caller == Caller::inside && i < arguments.size(); ++i) {
        if (call.parameters[i].kind == Kind::stream) {
            arguments[i] = Argument(capturing);
        }
    }
    d.cuStreamBeginCapture(capturing, situation.mode);
    if (situation.caller == Caller::other) {
        std::thread([&] {
            use_device(device);
            make_call(call, arguments, answer);
        }).join();
    } else {
        make_call(call, arguments, answer);
    }
    if (ends_context(call, answer) ||
        (situation.caller == Caller::inside && destroys_stream(call, answer))) {
        return false;
    }
    CUstreamCaptureStatus status{};
    CUgraph graph = nullptr;
    d.cuStreamIsCapturing(capturing, &status);
    answer.capture = status;
    answer.end = d.cuStreamEndCapture(capturing, &graph);
    answer.ended = true;
    return finish(call, answer);
}

std::string text_of(const CaptureAnswer &answer, int process) {
    std::string text = plausible::text_of(answer, process);
    if (answer.called && !answer.ended) {
        return text + "(gone)";
    }
    if (!answer.called || (answer.capture == CU_STREAM_CAPTURE_STATUS_ACTIVE && answer.end == 0)) {
        return text;
    }
    if (answer.capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED && answer.end == 901) {
        return text + "!";
    }
    return text + "(" + std::to_string(answer.capture) + "," + std::to_string(answer.end) + ")";
}

bool is_asked(const Call &call, const Situation &situation) {
    return situation.caller != Caller::inside || call.takes(Kind::stream);
}

void call_all(bool runtime, CUdevice device) {
    const std::vector<Call> calls = calls_of(runtime);
    const auto count = static_cast<unsigned int>(calls.size()) * situation_count;
    CaptureAnswer *answers = shared<CaptureAnswer>(count);
    std::string line;
    ask_in_children(
        count, calls_in_a_block * situation_count,
        [&](unsigned int i) {
            const Call &call = calls[i / situation_count];
            const Situation &situation = situations[i % situation_count];
            return !is_asked(call, situation) || ask_one(call, situation, device, answers[i]);
        },
        [&](unsigned int i, int ended) {
            static constexpr const char *callers[] = {"own", ", other", ", inside"};
            const Call &call = calls[i / situation_count];
            const unsigned int at = i % situation_count;
            if (is_asked(call, situations[at])) {
                line += at % 3 == 0 ? callers[at / 3] : "";
                line += " " + text_of(answers[i], ended);
            }
            if (at + 1 == situation_count) {
                note(call.name(), line.c_str());
                line.clear();
            }
        });
}

bool has_two() {
    int *devices = shared<int>(1);
    ask_in_children(
        1, 1, [&](unsigned int) { return start() && d.cuDeviceGetCount(devices) == CUDA_SUCCESS; },
        [](unsigned int, int) {});
    if (*devices < 2) {
        note("two devices", "not asked here");
    }
    return *devices >= 2;
}

} // namespace

SECTION("captures_driver") {
    call_all(false, 0);
}

SECTION("captures_runtime") {
    call_all(true, 0);
}

// The calls are made on device 1 while a stream of device 0 captures.
SECTION("two devices captures_driver") {
    if (has_two()) {
        call_all(false, 1);
    }
}

SECTION("two devices captures_runtime") {
    if (has_two()) {
        call_all(true, 1);
    }
}

} // namespace record::plausible
