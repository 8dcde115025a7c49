// Stream operations that wait for values in memory and write values.
#pragma once

#include "engine/work.hpp"

#include <vector>

namespace sim {

// Work::parameters: std::vector<CUstreamBatchMemOpParams>.
Work batch_memory_work(std::vector<CUstreamBatchMemOpParams> operations, unsigned int flags,
                       const char *what);

enum class Abi { first, second };
// A wait for one value, or a write of one.
CUresult submit_value(Abi abi, CUstreamBatchMemOpType type, CUstream stream, CUdeviceptr address,
                      cuuint64_t value, unsigned int flags);
template <Abi abi, CUstreamBatchMemOpType type>
CUresult stream_value(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
    return submit_value(abi, type, stream, address, value, flags);
}

} // namespace sim
