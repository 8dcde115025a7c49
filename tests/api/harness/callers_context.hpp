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

// Keeps the primary context of device 0 on a real driver, where making it takes a third of a second
// and much longer beside other processes that do: the runs of one scenario share it.
class KeptPrimary {
  public:
    KeptPrimary();
    ~KeptPrimary();
    KeptPrimary(const KeptPrimary &) = delete;
    KeptPrimary &operator=(const KeptPrimary &) = delete;
};

} // namespace api_test
