// Stream operations that wait for values in memory and write values.
#pragma once

#include "engine/work.hpp"

#include <vector>

namespace sim {

// Work::parameters: std::vector<CUstreamBatchMemOpParams>.
Work batch_memory_work(std::vector<CUstreamBatchMemOpParams> operations, unsigned int flags,
                       const char *what);

} // namespace sim
