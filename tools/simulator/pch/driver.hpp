// Precompiled header of the simulator sources, most of which compile faster than these headers.
// Each source still includes what it uses, so that it compiles without this (-Db_pch=false).
#include "base/cuda_headers.hpp"

#include "driver_functions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>
