// What the simulated runtime library asks of the simulated driver library, beside CUDA's own functions:
// faults, the call log, and to be told of a reset. A C interface, since the two are separate libraries.
#pragma once

#include "call.hpp"

#include <cstdint>

namespace sim {

struct Hooks {
    static constexpr int current_interface = 1;
    int interface; // current_interface; the runtime uses no other

    // Begins a call of the runtime on the calling thread: counts it and consults the planned faults.
    // Returns 0, or the status that it has to answer without doing anything. Until leave(), the driver's
    // calls of this thread are not listed as the client's. May be nested, as in a client's callback.
    // `row` and `arguments` stay valid until leave().
    int (*enter)(const Row *row, const Argument *arguments, unsigned int count);
    // Ends it, whatever enter() answered; lists it and returns its final status.
    int (*leave)(int status);

    // Grows with every reset of the simulator: handles and memory of before are gone.
    std::uint64_t (*epoch)();

    // Makes the runtime's rows known, so that faults can be planned for them and tools list them. They have
    // to stay where they are.
    void (*add_rows)(const Row *rows, unsigned int count);
};

// The driver library exports a function of this name and type.
using HooksFunction = const Hooks *(*)();
constexpr const char *hooks_name = "cushim_sim_hooks";

} // namespace sim

extern "C" const sim::Hooks *cushim_sim_hooks();
