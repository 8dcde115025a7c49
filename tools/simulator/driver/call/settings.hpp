// What the simulator plays: devices, versions, modes. Text form: see the end of cushim_sim.h.
#pragma once

#include "base/device_profile.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sim {

enum class Mode { immediate, threaded, adversarial };
enum class Report { none, print, fail }; // at exit

struct Settings {
    Machine machine;
    int driver = 0; // 0: the variant's
    int init = 0;
    std::size_t granularity = std::size_t(2) << 20;
    std::size_t addresses = 0; // bytes of addresses that there are in all; 0: what the system has
    Mode mode = Mode::immediate;
    std::uint64_t seed = 1;
    // How long a wait goes on while nothing moves anywhere, before it is reported as a deadlock.
    std::uint64_t patience_ms = 60000;
    // Adversarial mode: how long the program does nothing before queued work runs by itself; 0: for
    // ever.
    std::uint64_t stall_ms = 10000;
    Report report = Report::none;
    bool log = false, abort = false;
};

Settings &settings() noexcept;
// The text of a problem, or nothing. Plans faults, too.
std::optional<std::string> configure(std::string_view text);

// What cuDriverGetVersion answers: the setting, else the variant's.
int driver_version() noexcept;
// Of the variant that this library was linked as (variants/variant.cpp).
extern "C" const int sim_variant_version;
extern "C" const int sim_variant_is_stub;
// An exported name that it lacks, or "".
extern "C" const char *const sim_variant_lacks;

} // namespace sim
