// What is current on the thread before a scenario runs, and must be so again when it is over.
#pragma once

#include "scenario.hpp"

namespace api_test {

const char *name_of(Current current);

class CallersContext {
  public:
    explicit CallersContext(Current current);
    ~CallersContext();
    CallersContext(const CallersContext &) = delete;
    CallersContext &operator=(const CallersContext &) = delete;

  private:
    const Current current_;
    CUcontext context_ = nullptr;
};

} // namespace api_test
