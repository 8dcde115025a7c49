// CUDA_VISIBLE_DEVICES, with the drivers' rules: the list ends at the first entry that names no
// device, and a list that names a device twice is empty.
#include "base/device_profile.hpp"
#include "base/setting_text.hpp"

#include <algorithm>
#include <cstdlib>

namespace sim {
namespace {

constexpr std::string_view uuid_prefix = "GPU-";

// Characters after the digits are ignored.
int place_of_ordinal(const Machine &machine, const std::string &text) {
    char *end = nullptr;
    const long place = std::strtol(text.c_str(), &end, 10);
    return end != text.c_str() && place >= 0 && place < machine.devices ? static_cast<int>(place)
                                                                        : -1;
}

// A prefix that no other device shares is sufficient.
int place_of_uuid(const Machine &machine, const std::string &text) {
    int found = -1;
    for (int place = 0; place < machine.devices && text.starts_with(uuid_prefix); ++place) {
        if (uuid_text(place).starts_with(text)) {
            if (found != -1) {
                return -1;
            }
            found = place;
        }
    }
    return found;
}

} // namespace

std::vector<int> visible_places(const Machine &machine, std::string_view text) {
    const bool by_uuid =
        trimmed(text).starts_with(uuid_prefix); // a list has ordinals or UUIDs, not both
    std::vector<int> places;
    for (const std::string &entry : split(text, ',')) {
        const int place =
            by_uuid ? place_of_uuid(machine, entry) : place_of_ordinal(machine, entry);
        if (place < 0) {
            break;
        }
        if (std::find(places.begin(), places.end(), place) != places.end()) {
            return {};
        }
        places.push_back(place);
    }
    return places;
}

} // namespace sim
