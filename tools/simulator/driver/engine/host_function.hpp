// Client functions that run as work of a stream.
#pragma once

#include "call/runtime_calls.hpp"
#include "engine/work.hpp"

#include <utility>

namespace sim {

// A scope in which the thread runs client code that must not call the API.
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

// Work::parameters: CUDA_HOST_NODE_PARAMS (the first version of the struct).
Work host_work(CUhostFn function, void *user, const char *what);

} // namespace sim
