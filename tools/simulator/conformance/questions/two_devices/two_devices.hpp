// Helpers for questions about two devices. With one device, they print that they are skipped.
#pragma once

#include "../../runtime_questions.hpp"

#include <functional>
#include <string>

namespace record::QUESTIONS::two_devices {

constexpr char section_prefix[] = "two devices " PER_THREAD;
// A device's primary context and objects in it.
struct Side {
    static constexpr std::size_t size = 1 << 16;

    CUdevice device = 0;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr; // without timing
    CUdeviceptr memory = 0;

    void enter() const;
    void fill(unsigned char value) const;
    // Whether the first bytes of the memory have this value, read by its own device.
    bool holds(unsigned char value) const;
};

struct Sides {
    Side zero, one;

    void synchronize() const;
    // Enables or disables access of each device to the other's memory.
    void enable() const;
    void disable() const;
};

// Makes device 0's context current. Without a second device, prints that.
bool begin(Sides &sides);

// Runs in a separate process and prints how it ends: some calls crash it or fail a context.
void apart(const std::string &name, const std::function<void(const Sides &)> &body);

// Uses prepared memory from one side, all in one process or each use in its own, since a failed
// context returns no further results.
void use(CUdeviceptr p, const Side &side);
void use_apart(const std::string &name, Side Sides::*side,
               const std::function<CUdeviceptr(const Sides &)> &prepare);

} // namespace record::QUESTIONS::two_devices
