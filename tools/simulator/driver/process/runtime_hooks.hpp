// Services of the simulated driver library for the simulated runtime library, beyond CUDA's own
// functions: faults, the call log, resets. A C interface, since these are separate libraries.
#pragma once

#include "base/planned_fault.hpp"
#include "call/runtime_calls.hpp"

#include <cstdint>

namespace sim {

struct Hooks {
    static constexpr int current_interface = 5;
    int interface; // current_interface; the runtime accepts no other

    // Begins a runtime call on the calling thread: counts it and applies planned faults. Returns 0,
    // or the status that the call must return without any effect. Until leave(), driver calls of
    // this thread are not the client's. Calls may nest, as in a client callback. The frame must
    // stay valid until leave().
    int (*enter)(RuntimeFrame *frame);
    // Ends the call, whatever enter() returned; logs it and returns its final status. May run
    // client code and thereby runtime calls, so the caller must not hold a lock.
    int (*leave)(RuntimeFrame *frame, int status);

    // Incremented by every reset of the simulator, which invalidates all handles and memory.
    std::uint64_t (*epoch)();

    // Registers the runtime's rows, so that faults can be planned for them and tools can list them.
    // The rows must stay valid.
    void (*add_rows)(const Row *rows, unsigned int count);

    // Marks the object behind a handle as the runtime's own, which is never a leak.
    void (*keep_for_runtime)(const void *handle);

    // Adds a line to the driver's error log if the current runtime call fails, as drivers have for
    // some failures that the runtime detects.
    void (*explain)(const char *text);
};

// Name and type of the function that the driver library exports.
using HooksFunction = const Hooks *(*)();
constexpr const char *hooks_name = "cushim_sim_hooks";

} // namespace sim

extern "C" const sim::Hooks *cushim_sim_hooks();
