// The precompiled header of the tests. Of the public headers it has only those that nearly all
// tests use or that are slow to compile: a change of one of these rebuilds every test.
#include "harness/scenario.hpp"
#include "harness/simulator.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/override.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>
