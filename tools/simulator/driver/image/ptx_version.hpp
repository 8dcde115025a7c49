// Versions of PTX.
#pragma once

namespace sim {

// The newest PTX version that a driver of this CUDA version accepts, 84 for 8.4.
int newest_ptx(int cuda);

} // namespace sim
