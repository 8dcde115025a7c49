// Faults of the next call of an entry point, for tests of their consequences.
#pragma once

#include "handles.hpp"

namespace sim_test {

// Returns the number of the fault.
inline std::uint64_t plan_fault(const char *entry, int code, cushim_sim_fault_kind kind) {
    const cushim_sim_fault fault{.entry = entry, .kind = kind, .code = code};
    const std::uint64_t number = sim_control().plan_fault(&fault);
    REQUIRE(number != 0);
    return number;
}

// The call returns the code without doing its work.
inline std::uint64_t fail_instead(const char *entry, int code) {
    return plan_fault(entry, code, CUSHIM_SIM_FAULT_INSTEAD);
}
// The call does its work, then returns the code.
inline std::uint64_t fail_after(const char *entry, int code) {
    return plan_fault(entry, code, CUSHIM_SIM_FAULT_AFTER);
}
// The enqueued work fails with the code when it runs.
inline std::uint64_t fail_work(const char *entry, int code) {
    return plan_fault(entry, code, CUSHIM_SIM_FAULT_ASYNC);
}

} // namespace sim_test
