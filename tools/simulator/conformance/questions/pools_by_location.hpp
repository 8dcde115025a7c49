// Properties of memory pools by allocation type and location, as numbers: the names of some are
// newer than the driver that is asked.
#pragma once

#include "../record.hpp"

#include <string>

namespace record {

// An allocation type and a location.
struct Placement {
    int type, location, id;
};

inline std::string text(const Placement &place) {
    return "type " + std::to_string(place.type) + " location " + std::to_string(place.location) +
           " id " + std::to_string(place.id);
}

template <class Location = CUmemLocation>
Location location_of(const Placement &place) {
    Location location{};
    location.type = static_cast<decltype(location.type)>(place.location);
    location.id = place.id;
    return location;
}

template <class Properties = CUmemPoolProps>
Properties properties_of(const Placement &place) {
    Properties properties{};
    properties.allocType = static_cast<decltype(properties.allocType)>(place.type);
    properties.location = location_of<decltype(properties.location)>(place);
    return properties;
}

} // namespace record
