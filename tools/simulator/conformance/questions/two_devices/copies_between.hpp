// Copies between two devices in both directions, in streams of either: one table for each API.
#pragma once

#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

constexpr std::size_t length = 512;

template <class Status, class Stream>
struct CopyBetween {
    const char *kind; // each kind has its own process: if a context fails, the others still go on
    const char *name;
    bool in_stream; // asked with the null stream and with streams of both devices
    Status (*copy)(const Side &to, const Side &from, Stream stream);

    void once(const std::string &question, const Sides &of, const Side &to, const Side &from,
              Stream stream = nullptr) const {
        from.fill(5);
        to.fill(1);
        ask(question, copy(to, from, stream));
        of.synchronize();
        note(question, to.holds(5) ? 1 : 0);
    }

    void in_both_directions(const Sides &of) const {
        for (const bool up : {true, false}) {
            const Side &from = up ? of.zero : of.one, &to = up ? of.one : of.zero;
            const std::string question = std::string(name) + (up ? ", 0 to 1" : ", 1 to 0");
            once(question + (in_stream ? ", null stream" : ""), of, to, from);
            if (in_stream) {
                once(question + ", stream of 0", of, to, from, of.zero.stream);
                once(question + ", stream of 1", of, to, from, of.one.stream);
            }
        }
    }
};
// The call of a row; a structure that it takes is passed by address_of().
#define COPY(...)                                                                                  \
    [](const Side &to, const Side &from, [[maybe_unused]] auto stream) { return __VA_ARGS__; }

template <class Structure>
const Structure *address_of(const Structure &temporary) {
    return &temporary;
}

template <class Status, class Stream, std::size_t count>
void ask_kind(const std::string &kind, const CopyBetween<Status, Stream> (&copies)[count],
              const Sides &of) {
    for (const auto &each : copies) {
        if (kind == each.kind) {
            each.in_both_directions(of);
        }
    }
}

} // namespace record::QUESTIONS::two_devices
