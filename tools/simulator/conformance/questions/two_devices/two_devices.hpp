// What the questions about two devices share. They are skipped, visibly, where there is one.
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

// A device's primary context and what belongs to it.
struct Side {
    static constexpr std::size_t size = 1 << 16;

    CUdevice device = 0;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr; // of no times
    CUdeviceptr memory = 0;

    void enter() const;
    void fill(unsigned char value) const;
    // Whether the first bytes of the memory are of this value: told by its own device.
    bool holds(unsigned char value) const;
};

struct Sides {
    Side zero, one;

    void synchronize() const;
    // Each device may reach the other one's memory, or no more.
    void enable() const;
    void disable() const;
};

// Device 0's context is current. Where there is no second device, that is noted.
bool begin(Sides &sides);

// In a process of its own, whose end is noted: some of what is asked may end it, or make a context
// fail.
void apart(const std::string &name, const std::function<void(const Sides &)> &body);

// What a side does with memory that is prepared for it, all of it in one process, or each in one of
// its own, since a context that fails answers no further question.
void use(CUdeviceptr p, const Side &side);
void use_apart(const std::string &name, Side Sides::*side,
               const std::function<CUdeviceptr(const Sides &)> &prepare);

// The same with the name of the process before the question.
void ask(const char *question, CUresult status);
void ask(const char *question, cudaError_t status);
void note(const char *what, long long value);

// A question and, where it was answered, what it told.
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
