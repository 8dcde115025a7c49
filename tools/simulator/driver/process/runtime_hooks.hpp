// What the simulated runtime library asks of the simulated driver library, beside CUDA's own
// functions: faults, the call log, and to be told of a reset. A C interface, since the two are
// separate libraries.
#pragma once

#include "base/planned_fault.hpp"
#include "call/runtime_calls.hpp"

#include <cstdint>

namespace sim {

struct Hooks {
    static constexpr int current_interface = 4;
    int interface; // current_interface; the runtime uses no other

    // Begins a call of the runtime on the calling thread: counts it and consults the planned
    // faults. Returns 0, or the status that it has to answer without doing anything. Until leave(),
    // the driver's calls of this thread are not listed as the client's. May be nested, as in a
    // client's callback. Keeps the frame until leave().
    int (*enter)(RuntimeFrame *frame);
    // Ends it, whatever enter() answered; lists it and returns its final status. May call back into
    // the client, and so into the runtime: to be called without a lock.
    int (*leave)(RuntimeFrame *frame, int status);

    // Grows with every reset of the simulator: handles and memory of before are gone.
    std::uint64_t (*epoch)();

    // Makes the runtime's rows known, so that faults can be planned for them and tools list them.
    // They have to stay where they are.
    void (*add_rows)(const Row *rows, unsigned int count);

    // The object behind a handle is the runtime's own, and never a leak.
    void (*keep_for_runtime)(const void *handle);
};

// The driver library exports a function of this name and type.
using HooksFunction = const Hooks *(*)();
constexpr const char *hooks_name = "cushim_sim_hooks";

} // namespace sim

extern "C" const sim::Hooks *cushim_sim_hooks();
