// Variables of a module, for the host functions of its kernels.
#pragma once

#include "kernel/module.hpp"

#include <cstddef>
#include <string>

namespace sim {

struct VariableView {
    std::byte *view = nullptr; // null: not found
    std::size_t size = 0;      // in bytes
};

// The variable that the name fits best, see image/entity_name.hpp. Records a misuse if there is
// none, or if the name fits several equally. `kernel` is the name for the report.
VariableView kernel_variable(const Module &module, const std::string &kernel,
                             const std::string &name);

} // namespace sim
