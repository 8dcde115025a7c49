// Asks the loader, the driver and the machine for everything that cushim-info prints.
#pragma once

#include "model.hpp"

namespace cushim_info {

// Loads both libraries. Calls nothing that needs a device to be there.
Info gather();

// Fills init, count and devices of an info whose driver is loaded.
void ask_devices(Info &info);

} // namespace cushim_info
