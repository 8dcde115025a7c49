#include "process/report.hpp"
#include "base/notes.hpp"
#include "base/platform.hpp"
#include "call/failed_calls.hpp"
#include "call/faults.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/memory.hpp"
#include "engine/object.hpp"
#include "engine/open_calls.hpp"
#include "engine/stream.hpp"
#include "kernel/host_kernels.hpp"

#include <cstdio>

namespace sim {

namespace {

void for_each_left(const Leak &leak) {
    Registry::get().for_each([&](const Object &object) {
        if (object.counted) {
            const bool is_context = object.kind == Kind::context;
            leak(object.describe(),
                 is_context ? has_failed(&static_cast<const Context &>(object)) : is_lost(object));
        }
    });
    AddressSpace::get().for_each([&](const Range &range) {
        if (range.counted) {
            leak(range.describe(), is_lost(range));
        }
    });
    for_each_capture([&](const Capture &capture) {
        leak(capture.describe(), has_failed(capture.origin->context));
    });
    for_each_open_call(leak);
}

std::size_t lines_of(bool lost, const Line &line) {
    std::size_t count = 0;
    for_each_left([&](const std::string &text, bool is_lost) {
        if (is_lost == lost) {
            ++count;
            line(text);
        }
    });
    return count;
}

} // namespace

std::size_t for_each_leak(const Line &line) {
    return lines_of(false, line);
}

std::size_t for_each_lost(const Line &line) {
    return lines_of(true, line);
}

bool report_at_exit() noexcept try {
    const std::string process =
        " [" + platform::program_name() + " " + std::to_string(platform::process_id()) + "]";
    const auto printed_as = [&](const char *kind) {
        return [&, kind](const std::string &text) {
            std::fprintf(stderr, "cushim-sim: %s: %s%s\n", kind, text.c_str(), process.c_str());
        };
    };
    // A test must not pass with a result that was never computed, or without its fault.
    const bool fails = settings().report != Report::print;
    const auto error = printed_as(fails ? "error" : "note"), note = printed_as("note");
    std::size_t errors = for_each_leak(printed_as("leak"));
    for_each_lost(printed_as("lost"));
    errors += misuse_count();
    for_each_misuse(printed_as("misuse"));
    errors += for_each_failed_call(error);
    for_each_idle_fault([&](const std::string &text, bool is_error) {
        errors += is_error ? 1 : 0;
        is_error ? error(text) : note(text);
    });
    errors += for_each_idle_kernel(error);
    for (const std::string &text : notes()) {
        note(text);
    }
    return fails && errors != 0;
} catch (...) { // out of memory: a report must not end the process
    return false;
}

} // namespace sim
