// The devices of the simulated machine, identified by their place in it. CUDA_VISIBLE_DEVICES
// selects those that a process sees and numbers them: device.hpp.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

constexpr int most_devices = 16;

struct Capability {
    int major, minor;
};

struct Profile {
    std::optional<std::string> name;
    std::optional<std::size_t> memory, budget; // bytes
    std::optional<Capability> capability;
    std::map<int, std::optional<int>> attributes; // without a value: unknown to this driver
};

struct Machine {
    int devices = 1;
    Profile all;                // applies where a device's own profile has no value
    std::map<int, Profile> own; // by place
    // Pairs that can access each other, the lower place first. Without a value, all can.
    std::optional<std::set<std::pair<int, int>>> peers;

    const std::string &name(int place) const;
    std::size_t memory(int place) const;
    std::size_t limit(int place) const; // bytes that can be allocated
    Capability capability(int place) const;
    // The setting of an attribute; null if it is not set.
    const std::optional<int> *attribute(int place, int number) const;
    bool sets_attributes() const;
    bool can_access(int from, int to) const;
};

// Sets "devices" or "peers", or "name", "memory", "budget", "cc" or "attribute.N". The latter take
// ".PLACE" after the first word to apply to one device only. Returns no value for other
// these, otherwise whether the value was understood.
std::optional<bool> set_profile(Machine &machine, std::string_view key, std::string_view value);

// "GPU-63757368-…": a form that CUDA_VISIBLE_DEVICES accepts.
constexpr std::size_t uuid_size = 16;
void write_uuid(int place, char (&bytes)[uuid_size]);
std::string uuid_text(int place);

// The places that this value of CUDA_VISIBLE_DEVICES makes visible, in its order. No value if it
// names a device twice.
std::optional<std::vector<int>> visible_places(const Machine &machine, std::string_view text);

} // namespace sim
