// Compiled once, ahead of the simulator's sources: what most of them include takes longer than what
// they say. Each source includes what it uses all the same, so that it compiles without this
// (-Db_pch=false).
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
