// The precompiled header of the tests: headers that all of them include or that compile slowly.
#include "harness/scenario.hpp"
#include "harness/simulator.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>
