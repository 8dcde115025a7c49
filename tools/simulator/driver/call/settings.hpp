// Settings of the simulator: devices, versions, modes. Text form: see the end of cushim_sim.h.
#pragma once

#include "base/device_profile.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sim {

enum class Mode { immediate, threaded, adversarial };
enum class Report { none, print, fail, errors }; // at exit

struct Settings {
    Machine machine;
    int driver = 0; // 0: that of the variant
    int init = 0;
    std::size_t granularity = std::size_t(2) << 20;
    std::size_t addresses = 0; // size of all device addresses; 0: limited by the system
    Mode mode = Mode::immediate;
    std::uint64_t seed = 1;
    // How long a call waits without progress anywhere before it reports a deadlock.
    std::uint64_t patience_ms = 60000;
    // Adversarial mode: after this time without a call, enqueued work runs by itself; 0: never.
    std::uint64_t stall_ms = 10000;
    Report report = Report::none;
    bool log = false, abort = false;
};

Settings &settings() noexcept;
// Returns the text of a problem, or no value. Also plans faults.
std::optional<std::string> configure(std::string_view text);

// The version that cuDriverGetVersion returns: the setting, or else the variant's version.
int driver_version() noexcept;
// The version of the variant that this library was linked as (variants/variant.cpp).
extern "C" const int sim_variant_version;
extern "C" const int sim_variant_is_stub;
// An exported name that the variant lacks, or "".
extern "C" const char *const sim_variant_lacks;

} // namespace sim
