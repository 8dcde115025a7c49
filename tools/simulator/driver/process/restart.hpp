// Resets the simulator to the state of a process that has just loaded the library.
#pragma once

namespace sim {

// The caller holds the lock, and no other call runs.
void restart();

} // namespace sim
