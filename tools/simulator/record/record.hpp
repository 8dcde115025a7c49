// Asks a driver what it answers, line by line, so that the simulator can be held against a recording of a
// real one. Each section runs in a process of its own.
#pragma once

#include <cushim/cushim.hpp>

#include <cstdint>
#include <string>

namespace record {

inline const auto d = cushim::driver();

// One line: the question and the status.
void ask(const char *question, CUresult status);
// One line: something else that was seen, as a number or a text.
void note(const char *what, long long value);
void note(const char *what, const char *text);

// The current context is device 0's primary one; false where there is none.
bool start();
CUcontext context();

// A kernel `add(out, n)` and others, as PTX.
extern const char ptx[];

struct Section {
    const char *name;
    void (*run)();
};
extern const Section sections[];
extern const unsigned int section_count;

void process();
void devices();
void attributes();
void contexts();
void primary_context();
void memory();
void host_memory();
void copies();
void virtual_memory();
void descriptors();
void ipc();
void pools();
void streams();
void events();
void capture();
void graphs();
void graph_updates();
void modules();
void launches();
void resolution();
void no_context();
void limits();

} // namespace record
