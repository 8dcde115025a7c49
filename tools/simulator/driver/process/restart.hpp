// Beginning anew, as in a process that just loaded the library.
#pragma once

namespace sim {

// With the lock held; no other call may be running.
void restart();

} // namespace sim
