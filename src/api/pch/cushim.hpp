// Compiled once, ahead of the wrappers: what most of them include, and what that takes long for.
// Each source includes what it needs all the same.
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
