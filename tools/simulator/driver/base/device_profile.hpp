// What the devices of the simulated machine are, each by its place in it. A process sees those that
// CUDA_VISIBLE_DEVICES leaves it, under ordinals of its own: device.hpp.
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
    Profile all;                // what a device has that its own profile does not say
    std::map<int, Profile> own; // by place
    // Pairs that can access each other, the lower place first; nothing: all can.
    std::optional<std::set<std::pair<int, int>>> peers;

    const std::string &name(int place) const;
    std::size_t memory(int place) const;
    std::size_t limit(int place) const; // bytes that may be allocated
    Capability capability(int place) const;
    // The setting of an attribute; null where there is none.
    const std::optional<int> *attribute(int place, int number) const;
    bool sets_attributes() const;
    bool can_access(int from, int to) const;
};

// "name", "memory", "budget", "cc" and "attribute.N", all with ".PLACE" behind the first word for
// one device only; "devices", "peers". Nothing where the key is none of these; else whether the
// value was understood.
std::optional<bool> set_profile(Machine &machine, std::string_view key, std::string_view value);

// "GPU-63757368-…": what CUDA_VISIBLE_DEVICES takes, too.
constexpr std::size_t uuid_size = 16;
void write_uuid(int place, char (&bytes)[uuid_size]);
std::string uuid_text(int place);

// The places that a value of CUDA_VISIBLE_DEVICES leaves visible, in its order.
std::vector<int> visible_places(const Machine &machine, std::string_view text);

} // namespace sim
