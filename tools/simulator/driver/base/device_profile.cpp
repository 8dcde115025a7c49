#include "base/device_profile.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sim {
namespace {

const Profile *own_profile(const Machine &machine, int place) {
    const auto found = machine.own.find(place);
    return found == machine.own.end() ? nullptr : &found->second;
}

// The value in the device's own profile, or else in the common profile, or else null.
template <class T>
const std::optional<T> &chosen(const Machine &machine, int place,
                               std::optional<T> Profile::*member) {
    const Profile *own = own_profile(machine, place);
    return own != nullptr && own->*member ? own->*member : machine.all.*member;
}

} // namespace

const std::string &Machine::name(int place) const {
    static const std::string usual = "cushim simulated GPU";
    const auto &set = chosen(*this, place, &Profile::name);
    return set ? *set : usual;
}

std::size_t Machine::memory(int place) const {
    return chosen(*this, place, &Profile::memory).value_or(std::size_t(8) << 30);
}

std::size_t Machine::limit(int place) const {
    return chosen(*this, place, &Profile::budget).value_or(memory(place));
}

Capability Machine::capability(int place) const {
    return chosen(*this, place, &Profile::capability).value_or(Capability{9, 0});
}

const std::optional<int> *Machine::attribute(int place, int number) const {
    for (const Profile *profile : {own_profile(*this, place), &all}) {
        if (profile == nullptr) {
            continue;
        }
        const auto found = profile->attributes.find(number);
        if (found != profile->attributes.end()) {
            return &found->second;
        }
    }
    return nullptr;
}

bool Machine::sets_attributes() const {
    return !all.attributes.empty() || std::any_of(own.begin(), own.end(), [](const auto &entry) {
        return !entry.second.attributes.empty();
    });
}

bool Machine::can_access(int from, int to) const {
    return from != to && (!peers || peers->contains(std::minmax(from, to)));
}

void write_uuid(int place, char (&bytes)[uuid_size]) {
    std::memcpy(bytes, "cushim-sim-gpu-", uuid_size);
    bytes[uuid_size - 1] = static_cast<char>(place);
}

std::string uuid_text(int place) {
    char bytes[uuid_size];
    write_uuid(place, bytes);
    std::string text = "GPU";
    for (std::size_t i = 0; i < uuid_size; ++i) {
        const bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(bytes[i]));
        text += begins_group ? "-" : "";
        text += digits;
    }
    return text;
}

} // namespace sim
