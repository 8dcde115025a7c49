// Calls of the simulated runtime library, which arrive through hooks.hpp.
#pragma once

#include "base/cuda_headers.hpp"
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

// The thread runs the client's own code for a scope, with the lock given up. What that calls are the client's calls,
// though one of the runtime is under way further out.
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
