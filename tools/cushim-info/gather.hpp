// Collects all information that cushim-info prints, from the loader, the driver and the machine.
#pragma once

#include "model.hpp"

namespace cushim_info {

// Loads both libraries. Makes no call that requires a device.
Info gather();

// Sets init, count and devices of an info whose driver is loaded.
void ask_devices(Info &info);

} // namespace cushim_info
