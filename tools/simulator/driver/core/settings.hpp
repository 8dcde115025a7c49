// What the simulator plays: devices, versions, modes. Text form: see the end of cushim_sim.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sim {

enum class Mode { immediate, threaded, adversarial };

struct Settings {
    int devices = 1;
    std::string name = "cushim simulated GPU";
    std::size_t memory = std::size_t(8) << 30; // bytes, per device
    std::optional<std::size_t> budget;         // bytes, per device
    int cc_major = 9, cc_minor = 0;
    bool peers = true;
    int driver = 0; // 0: the variant's
    int init = 0;
    std::size_t granularity = std::size_t(2) << 20;
    std::map<int, std::optional<int>> attributes; // without a value: unknown to this driver
    Mode mode = Mode::immediate;
    std::uint64_t seed = 1;
    // How long a wait goes on while nothing moves anywhere, before it is reported as a deadlock.
    std::uint64_t patience_ms = 60000;
    // Adversarial mode: how long the program does nothing before queued work runs by itself; 0: for ever.
    std::uint64_t stall_ms = 1000;
    bool log = false, report = false, abort = false;

    std::size_t limit() const { return budget.value_or(memory); }
};

Settings &settings() noexcept;
// The text of a problem, or nothing. Plans faults, too.
std::optional<std::string> configure(std::string_view text);

// What cuDriverGetVersion answers: the setting, else the variant's.
int driver_version() noexcept;
// Of the variant that this library was linked as (variants/*.cpp).
extern "C" const int sim_variant_version;
extern "C" const int sim_variant_is_stub;
// An exported name that it lacks, or "".
extern "C" const char *const sim_variant_lacks;

} // namespace sim
