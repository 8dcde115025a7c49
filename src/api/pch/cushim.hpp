// Precompiled header of the wrappers. Each source still includes what it needs.
#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/in_context.hpp"

#include <cushim/driver_table.hpp>
#include <cushim/runtime_table.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <vector>
