// One plausible call in a child process, with what its process needs before.
#pragma once

#include "../children.hpp"
#include "calls.hpp"

#include <memory>
#include <string>
#include <vector>

namespace record::plausible {

// What a call returned, in memory shared with the parent of its process.
struct Answer {
    bool made;   // all arguments
    bool called; // and the call returned
    int status;  // or trace::no_status
    int after;   // of the context, once its work is done
};

// Makes device 0's primary context, its default pool and the usual capture mode current, as before
// every call; false without a device.
bool prepare(const Call &call);
// Makes the call in the current context. The process ends if it, or what follows, takes long.
void make_call(const Call &call, const Arguments &arguments, Answer &answer);
// Whether the call ends the context that it is made in, as cuDevicePrimaryCtxReset does.
bool ends_context(const Call &call, const Answer &answer);
// Whether the call destroyed the stream that it was passed.
bool destroys_stream(const Call &call, const Answer &answer);
// The arguments of a call. They are made again for another call, and after a call that used some
// up: making them takes longer than most calls.
class Supply {
  public:
    std::shared_ptr<Values> values(const Call &call);
    void use(const Call &call, const Answer &answer);

  private:
    std::string call_;
    std::shared_ptr<Values> values_;
};

// Synchronizes the context. Whether another call can be made in this process.
bool finish(const Call &call, Answer &answer);

// A word: the status, or `called` if the call returns none, `x11` for a call that ended its process
// with that wait status, and `-` for one without arguments, since some could not be made.
// `0>700` is a call after which cuCtxSynchronize returns 700, or, as `0>x11`, the process ends.
std::string text_of(const Answer &answer, int process);

// The calls of one library, or those of them that do not end the context that they are made in.
std::vector<Call> calls_of(bool runtime);
std::vector<Call> lasting_calls_of(bool runtime);
constexpr unsigned int calls_in_a_block = 16;

} // namespace record::plausible
