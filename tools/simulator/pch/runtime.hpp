// Precompiled header of the simulated runtime: see driver.hpp.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>
