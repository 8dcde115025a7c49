// What holds while a function of the client runs in a stream's turn.
#pragma once

#include "call/runtime_calls.hpp"
#include "engine/work.hpp"

#include <utility>

namespace sim {

// The thread is the client's for a scope, but may not call the API.
class HostFunctionScope {
  public:
    HostFunctionScope() noexcept : outer_(std::exchange(in_host_function(), true)) {}
    ~HostFunctionScope() { in_host_function() = outer_; }
    HostFunctionScope(const HostFunctionScope &) = delete;
    HostFunctionScope &operator=(const HostFunctionScope &) = delete;

  private:
    bool outer_;
    ClientCode code_;
};

} // namespace sim
