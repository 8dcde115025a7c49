// Calls of the simulated runtime library, which arrive through process/runtime_hooks.hpp.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/planned_fault.hpp"
#include "call/call.hpp"

#include <cstdint>

namespace sim {

// Whether the calling thread is inside a runtime call. Driver calls are then not the client's.
bool in_runtime_call() noexcept;
// The outermost runtime call, as the client made it; without a name outside any.
struct ClientCall {
    const char *name = nullptr;
    std::uint64_t number = 0;
    bool refused = false; // a driver call inside it failed
};
ClientCall runtime_call() noexcept;
// A driver call inside the runtime call failed; the runtime call may still succeed.
void note_refusal() noexcept;
// Replaces the current runtime call; returns the previous one.
ClientCall exchange_runtime_call(ClientCall call) noexcept;
// The status that work enqueued by this runtime call must fail with. Returned only once.
CUresult take_runtime_async_fault() noexcept;

// A runtime call in progress. It lives on the stack of that call, so that entering a call never
// allocates. The driver manages all members except the row and the arguments.
struct RuntimeFrame {
    const Row *row = nullptr;
    const Argument *arguments = nullptr; // both stay valid until leave()
    unsigned int count = 0;
    std::uint64_t number = 0;
    PlannedFault fault{};
    bool outermost = false;        // runtime_call() returns this one
    RuntimeFrame *outer = nullptr; // the enclosing call of the same thread
    // The runtime's name of a status, or null.
    const char *(*status_name)(int status) noexcept = nullptr;
};
// Begin and end the call: see Hooks::enter and Hooks::leave.
int enter_runtime_call(RuntimeFrame *frame);
int leave_runtime_call(RuntimeFrame *frame, int status);

// A scope in which the thread runs client code without the lock. Calls made there are the client's,
// even inside a runtime call.
class ClientCode {
  public:
    ClientCode() noexcept : outer_(exchange_runtime_call({})) {}
    ~ClientCode() { exchange_runtime_call(outer_); }
    ClientCode(const ClientCode &) = delete;
    ClientCode &operator=(const ClientCode &) = delete;

  private:
    ClientCall outer_;
    Unlocked unlocked_;
};

} // namespace sim
