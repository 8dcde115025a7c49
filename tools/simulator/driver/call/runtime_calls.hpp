// Calls of the simulated runtime library, which arrive through process/runtime_hooks.hpp.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/planned_fault.hpp"
#include "call/call.hpp"

#include <cstdint>

namespace sim {

// Whether the calling thread is inside one: the driver's calls are then not the client's.
bool in_runtime_call() noexcept;
// That call, the outermost of them, as its client made it; no name outside any.
struct ClientCall {
    const char *name = nullptr;
    std::uint64_t number = 0;
    bool refused = false; // the driver has refused it something
};
ClientCall runtime_call() noexcept;
// The driver refuses it something, which need not be the end of it.
void note_refusal() noexcept;
// Puts another in its place; returns what it was.
ClientCall exchange_runtime_call(ClientCall call) noexcept;
// What work that this runtime call queues has to fail with; given out once.
CUresult take_runtime_async_fault() noexcept;

// A call of the runtime that is under way: it lies on the stack of that call, so that a thread can
// make calls for as long as it runs at all. But for what was called and with what, the driver's.
struct RuntimeFrame {
    const Row *row = nullptr;
    const Argument *arguments = nullptr; // both stay valid until leave()
    unsigned int count = 0;
    std::uint64_t number = 0;
    PlannedFault fault{};
    bool outermost = false;        // it is what runtime_call() tells
    RuntimeFrame *outer = nullptr; // the one of the same thread further out
    // The runtime's name of a status, or null.
    const char *(*status_name)(int status) noexcept = nullptr;
};
// Begins it and ends it: see Hooks::enter and Hooks::leave.
int enter_runtime_call(RuntimeFrame *frame);
int leave_runtime_call(RuntimeFrame *frame, int status);

// The thread runs the client's own code for a scope, with the lock given up. What that calls are
// the client's calls, though one of the runtime is under way further out.
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
