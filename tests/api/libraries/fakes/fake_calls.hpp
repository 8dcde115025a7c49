// What the fake libraries have in common: they record each call as a line of text, count live
// objects, and fail one call on request. fake.hpp is the other side.
#pragma once

#include <string>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

std::string recorded;
int call_number = 0, failing_call = 0, failing_status = 0, live_objects = 0;

// Records a call; the status that it returns.
[[maybe_unused]] int enter(const std::string &call) {
    recorded += call + "\n";
    return ++call_number == failing_call ? failing_status : 0;
}

[[maybe_unused]] std::string list(int count, const char *const *strings) {
    std::string text;
    for (int index = 0; index < count; ++index) {
        text += std::string(index == 0 ? "" : " ") + strings[index];
    }
    return text;
}

} // namespace

// Call number `failing`, counted from 1, fails with this status; 0: none.
FAKE void fake_reset(int failing, int status) {
    recorded.clear();
    call_number = 0;
    failing_call = failing;
    failing_status = status;
}
FAKE const char *fake_calls() {
    return recorded.c_str();
}
FAKE int fake_live_objects() {
    return live_objects;
}
