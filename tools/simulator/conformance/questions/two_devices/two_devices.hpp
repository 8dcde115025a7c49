// Helpers for questions about two devices. With one device, they print that they are skipped.
#pragma once

#include "../../runtime_questions.hpp"

#include <functional>
#include <string>

namespace record {

namespace legacy {
extern const Sections all_of_two_devices;
}
namespace per_thread {
extern const Sections all_of_two_devices;
}

} // namespace record

namespace record::QUESTIONS::two_devices {

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

// Prints the question with its process's name as prefix.
void ask(const char *question, CUresult status);
void ask(const char *question, cudaError_t status);
void note(const char *what, long long value);

// Prints a question and, if the call succeeded, its output.
template <class Status, class Value>
void tell(const std::string &question, Status status, const Value &value) {
    ask(question.c_str(), status);
    if (static_cast<int>(status) == 0) {
        note(question.c_str(), static_cast<long long>(value));
    }
}

void peers();
void reach();
void copies();
void wrong_copies();
void copies_elsewhere();
void streams();
void events();
void captures();
void graphs();
void pointers();
void objects();
void managed();
void virtual_memory();
void pools();
void ipc();
void failures();

void runtime_peers();
void runtime_first_use();
void runtime_copies();
void runtime_streams();
void runtime_memory();
void runtime_pools();
void runtime_resets();

} // namespace record::QUESTIONS::two_devices
