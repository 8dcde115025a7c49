#include "process/report.hpp"
#include "base/notes.hpp"
#include "call/faults.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "engine/memory.hpp"
#include "engine/object.hpp"
#include "engine/open_calls.hpp"
#include "kernel/host_kernels.hpp"

#include <cstdio>

namespace sim {

std::size_t for_each_leak(const Line &line) {
    std::size_t count = 0;
    Registry::get().for_each([&](const Object &object) {
        if (object.counted) {
            ++count;
            line(object.describe());
        }
    });
    AddressSpace::get().for_each([&](const Range &range) {
        if (range.counted) {
            ++count;
            line(range.describe());
        }
    });
    return count + for_each_open_call(line);
}

bool report_at_exit() noexcept try {
    const std::size_t leaks = for_each_leak([](const std::string &text) {
        std::fprintf(stderr, "cushim-sim: leak: %s\n", text.c_str());
    });
    for_each_misuse([](const std::string &text) {
        std::fprintf(stderr, "cushim-sim: misuse: %s\n", text.c_str());
    });
    const auto note = [](const std::string &text) {
        std::fprintf(stderr, "cushim-sim: note: %s\n", text.c_str());
    };
    for (const std::string &text : notes()) {
        note(text);
    }
    for_each_idle_fault(note);
    // A test must not pass with a result that was never computed.
    const bool fails = settings().report == Report::fail;
    const std::size_t idle = for_each_idle_kernel([fails](const std::string &text) {
        std::fprintf(stderr, "cushim-sim: %s: %s\n", fails ? "error" : "note", text.c_str());
    });
    return leaks != 0 || misuse_count() != 0 || idle != 0;
} catch (...) { // out of memory: a report must not end the process
    return false;
}

} // namespace sim
