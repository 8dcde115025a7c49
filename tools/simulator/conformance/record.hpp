// Prints a driver's results line by line, to compare the simulator with the recording of a real
// driver. Each section runs in its own process.
#pragma once

#include <cushim/table.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

// Questions are compiled twice: normally, and with a per-thread default stream, where names refer
// to the _ptsz and _ptds variants.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define QUESTIONS per_thread
#define PER_THREAD "per-thread "
#else
#define QUESTIONS legacy
#define PER_THREAD ""
#endif

namespace record {

inline const auto d = cushim::driver();
inline const auto r = cushim::runtime();
struct [[gnu::visibility("hidden")]] Tables : cushim::DriverTable, cushim::RuntimeTable {};
inline const Tables both{d, r};

// The prefix of each question and observation of this process.
inline std::string title;

// Prints a line with another observation, a number or a text.
void note_number(const std::string &what, long long value);
void note_text(const std::string &what, const char *text);
template <class Value>
void note(const std::string &what, const Value &value) {
    if constexpr (std::is_convertible_v<const Value &, const char *>) {
        note_text(what, value);
    } else {
        note_number(what, static_cast<long long>(value));
    }
}

// A question that was asked: `.note("flags", flags)` prints what it returned, `.told("flags",
// flags)` only if the call succeeded.
struct Asked {
    int status;
    template <class Value>
    const Asked &note(const std::string &what, const Value &value) const {
        record::note(what, value);
        return *this;
    }
    template <class Value>
    const Asked &told(const std::string &what, const Value &value) const {
        return status == 0 ? note(what, value) : *this;
    }
};

// Prints a line with the question and the status.
Asked ask(const std::string &question, int status);
// ASK(cuMemAlloc, "(null)", nullptr, 16) asks "cuMemAlloc(null)".
#define ASK(function, what, ...) ask(#function what, ::record::both.function(__VA_ARGS__))
// MAKE(cuMemAlloc, 16) returns what a call makes that is not asked about: null if it fails.
#define MAKE(function, ...) ::record::make(&::record::Tables::function __VA_OPT__(, ) __VA_ARGS__)
template <class Part, class Status, class Made, class... Parameters, class... Arguments>
Made make(Status (Part::*function)(Made *, Parameters...) const, Arguments... arguments) {
    Made made{};
    (both.*function)(&made, arguments...);
    return made;
}
// Prints a question and, if the call succeeded, its output.
template <class Status, class Value>
void tell(const std::string &question, Status status, const Value &value) {
    ask(question, status);
    if (static_cast<int>(status) == 0) {
        note(question, value);
    }
}

// Makes device 0's primary context current; false without a device.
bool start();
CUcontext context();

// A section of a recording, written before its questions:
//
//     SECTION("memory", start) { ... }
//
// If the second argument, a function, returns false, as without a device, the questions are not
// asked. SECTION_ONCE is for calls without per-thread variants, or whose variants behave the same.
struct Section {
    std::string name;
    void (*run)();
    bool (*begin)();

    // Adds the section to sections().
    Section(std::string name, void (*run)(), bool (*begin)() = nullptr);
};
std::vector<const Section *> &sections();

constexpr char section_prefix[] = PER_THREAD;
#define SECTION_AS(function, name, ...)                                                            \
    static void function();                                                                        \
    static const ::record::Section added_##function(std::string(section_prefix) + name,            \
                                                    function __VA_OPT__(, ) __VA_ARGS__);          \
    static void function()
#define SECTION_AT(line, ...) SECTION_AS(section_##line, __VA_ARGS__)
#define SECTION_ON(...) SECTION_AT(__VA_ARGS__)
#define SECTION(...) SECTION_ON(__LINE__, __VA_ARGS__)
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define NO_SECTION_AT(line) [[maybe_unused]] static void section_##line()
#define NO_SECTION_ON(line) NO_SECTION_AT(line)
#define SECTION_ONCE(...) NO_SECTION_ON(__LINE__)
#else
#define SECTION_ONCE SECTION
#endif

} // namespace record

namespace record::QUESTIONS {

// PTX with a kernel `add(out, n)` and others.
extern const char ptx[];

} // namespace record::QUESTIONS
