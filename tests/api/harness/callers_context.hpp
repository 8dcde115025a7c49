// The thread's current context before a scenario, which must be current again after it.
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

// Keeps the primary context of device 0 active on a real driver, so that the runs of a scenario
// share it: making it takes a third of a second, and much longer if other processes do so, too.
class KeptPrimary {
  public:
    KeptPrimary();
    ~KeptPrimary();
    KeptPrimary(const KeptPrimary &) = delete;
    KeptPrimary &operator=(const KeptPrimary &) = delete;
};

} // namespace api_test
