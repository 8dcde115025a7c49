// Stream-ordered memory: its address is known at once; the memory is usable in stream order, from
// its allocation to its free.
#pragma once

#include "engine/memory.hpp"
#include "engine/pool.hpp"

#include <memory>

namespace sim {

// A range for bytes of a pool, either new or of another process.
Range &add_pool_memory(std::shared_ptr<Backing> backing,
                       std::shared_ptr<PoolAllocation> allocation);

// For cuMemFree: frees stream-ordered memory immediately. The client guarantees that it is unused;
// the real driver does not check. Fails for freed memory.
void free_pool_memory(Range &range);
// Frees all stream-ordered memory of a device that cannot be used any more.
void end_pool_memory_of(int device);

} // namespace sim
