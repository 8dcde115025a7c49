// Stream-ordered memory: its address is known at once; the memory is usable in stream order, from
// its allocation to its free.
#pragma once

#include "engine/memory.hpp"
#include "engine/pool.hpp"

#include <memory>

namespace sim {

// A range for an allocation of an imported pool, at an offset in its file. As in the process that
// made it, memory of the host can be used by the host at its address. Fails with INVALID_VALUE if
// the file does not have the bytes.
Range &import_pool_memory(std::size_t offset, std::size_t size,
                          std::shared_ptr<PoolAllocation> allocation);

// For cuMemFree: frees stream-ordered memory immediately. The client guarantees that it is unused;
// the real driver does not check. Fails for freed memory.
void free_pool_memory(Range &range);
// Frees all stream-ordered memory of a device that cannot be used any more.
void end_pool_memory_of(int device);

} // namespace sim
