// Device printf.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sim::ptx {

// Copies bytes of the device; false if they cannot be read.
using ReadBytes = std::function<bool(std::uint64_t address, void *to, std::size_t size)>;

struct Printed {
    std::string text;  // up to about 64 KiB
    int arguments = 0; // how many the format took
};

// The text that a format makes of the arguments at an address, each at a multiple of its size: 4
// bytes, or 8 for long integers, reals and pointers. No value if memory cannot be read.
std::optional<Printed> format_text(const ReadBytes &read, std::uint64_t format,
                                   std::uint64_t arguments);

} // namespace sim::ptx
