// CUDA_VISIBLE_DEVICES, with the drivers' rules: the list ends at the first entry that names no
// device, and must not name a device twice.
#include "base/device_profile.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>

namespace sim {
namespace {

// Characters after the digits are ignored. Numbers are reduced to 32 bits.
int place_of_ordinal(const Machine &machine, const std::string &text) {
    char *end = nullptr;
    const auto place = static_cast<std::int32_t>(std::strtoll(text.c_str(), &end, 10));
    return end != text.c_str() && place >= 0 && place < machine.devices ? place : -1;
}

bool is_uuid(std::string_view text) {
    return text.starts_with("GPU-") || text.starts_with("MIG-");
}

// Digits that no other device shares are sufficient; characters after the last one are ignored.
int place_of_uuid(const Machine &machine, std::string_view text) {
    constexpr std::size_t prefix = 4;
    int found = -1;
    for (int place = 0; place < machine.devices && is_uuid(text); ++place) {
        const std::string uuid = uuid_text(place);
        const std::string_view digits = text.substr(prefix, uuid.size() - prefix);
        if (!digits.empty() && std::equal(digits.begin(), digits.end(), uuid.begin() + prefix,
                                          [](unsigned char one, unsigned char other) {
                                              return std::tolower(one) == other;
                                          })) {
            if (found != -1) {
                return -1;
            }
            found = place;
        }
    }
    return found;
}

} // namespace

std::optional<std::vector<int>> visible_places(const Machine &machine, std::string_view text) {
    const bool by_uuid = is_uuid(text); // a list has ordinals or UUIDs, not both
    std::vector<int> places;
    for (bool more = true; more;) {
        const std::size_t comma = text.find(',');
        const std::string entry(text.substr(0, comma));
        const int place =
            by_uuid ? place_of_uuid(machine, entry) : place_of_ordinal(machine, entry);
        if (place < 0) {
            break;
        }
        if (std::find(places.begin(), places.end(), place) != places.end()) {
            return std::nullopt;
        }
        places.push_back(place);
        more = comma != text.npos;
        text.remove_prefix(more ? comma + 1 : 0);
    }
    return places;
}

} // namespace sim
