#include "asking.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <unistd.h>

namespace record::plausible {

namespace {

constexpr unsigned int seconds_for_a_call = 2;

bool is_one_of(const Call &call, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), std::string_view(call.name())) != names.end();
}

bool may_end_context(const Call &call) {
    return is_one_of(call, {"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2",
                            "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2",
                            "cudaDeviceReset"});
}

// By words of their names: whether a second call with the same arguments may fail.
bool uses_up(const Call &call) {
    static constexpr std::string_view words[] = {
        "Destroy",  "Detach",  "Free", "Unload", "Unmap",    "Unregister", "Release",
        "Close",    "Capture", "Map",  "Import", "Complete", "Link",       "Remove",
        "Register", "Reset",   "Trim", "Add",    "PeerAcc",  "Launch",     "Update"};
    const std::string_view name = call.name();
    return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
        return name.find(word) != std::string_view::npos;
    });
}

} // namespace

bool prepare(const Call &call) {
    static const bool started = start();
    if (!started || d.cuCtxSetCurrent(context()) != CUDA_SUCCESS) {
        return false;
    }
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    d.cuThreadExchangeStreamCaptureMode(&mode);
    d.cuDeviceSetMemPool(0, MAKE(cuDeviceGetDefaultMemPool, 0));
    if (call.runtime) {
        r.cudaSetDevice(0);
        r.cudaFree(nullptr);
        r.cudaGetLastError();
    }
    return true;
}

void make_call(const Call &call, const Arguments &arguments, Answer &answer) {
    alarm(seconds_for_a_call);
    answer.status = call.call(arguments);
    answer.called = true;
}

bool ends_context(const Call &call, const Answer &answer) {
    return answer.status == 0 && may_end_context(call);
}

bool destroys_stream(const Call &call, const Answer &answer) {
    return answer.status == 0 &&
           is_one_of(call, {"cuStreamDestroy", "cuStreamDestroy_v2", "cudaStreamDestroy"});
}

std::shared_ptr<Values> Supply::values(const Call &call) {
    if (values_ == nullptr || call_ != call.name()) {
        call_ = call.name();
        values_ = new_values(0, 0);
    }
    return values_;
}

void Supply::use(const Call &call, const Answer &answer) {
    if (answer.status == 0 && uses_up(call)) {
        values_ = nullptr;
    }
}

bool finish(const Call &call, Answer &answer) {
    if (ends_context(call, answer)) {
        return false;
    }
    d.cuCtxSetCurrent(context());
    answer.after = d.cuCtxSynchronize();
    return answer.after == CUDA_SUCCESS;
}

std::string text_of(const Answer &answer, int process) {
    const std::string ended = "x" + std::to_string(process);
    if (!answer.called) {
        return answer.made || process != 0 ? ended : "-";
    }
    std::string text = answer.status == trace::no_status ? "called" : std::to_string(answer.status);
    if (process != 0) {
        text += ">" + ended;
    } else if (answer.after != 0) {
        text += ">" + std::to_string(answer.after);
    }
    return text;
}

std::vector<Call> calls_of(bool runtime) {
    std::vector<Call> those;
    std::copy_if(calls().begin(), calls().end(), std::back_inserter(those),
                 [&](const Call &call) { return call.runtime == runtime; });
    return those;
}

std::vector<Call> lasting_calls_of(bool runtime) {
    std::vector<Call> those = calls_of(runtime);
    std::erase_if(those, may_end_context);
    return those;
}

} // namespace record::plausible
