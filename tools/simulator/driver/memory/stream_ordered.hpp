// Memory that is allocated and freed in stream order: known by its address at once, usable from the
// turn of its allocation on until that of its end.
#pragma once

#include "engine/memory.hpp"
#include "engine/pool.hpp"

#include <memory>

namespace sim {

// A range for bytes of a pool: fresh ones, or those of another process.
Range &add_pool_memory(std::shared_ptr<Backing> backing,
                       std::shared_ptr<PoolAllocation> allocation);

// For cuMemFree: ends stream-ordered memory at once. The client has made sure that nothing uses it,
// and the real driver does not look. Refuses what was freed already.
void free_pool_memory(Range &range);
// For a reset of a device that no other context uses: ends all stream-ordered memory there.
void end_pool_memory_of(int device);

} // namespace sim
