// Every entry point with zeros for arguments, device 0's primary context being current. A driver may not
// survive that: the calls are made in a process apart, and the next one goes on behind the call that ended it.
#include "record.hpp"
#include "trace.hpp"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

namespace record {

namespace {

constexpr int not_called = -1, no_status = -2;

template <class Entry, class Function = std::remove_pointer_t<typename Entry::pfn>>
struct Zeros;

template <class Entry, class Result, class... Arguments>
struct Zeros<Entry, Result(Arguments...)> {
    static int call() {
        if constexpr (trace::is_status<Result>) {
            return static_cast<int>(trace::function_of<Entry>()(Arguments{}...));
        } else {
            trace::function_of<Entry>()(Arguments{}...);
            return no_status;
        }
    }
};

struct Call {
    const char *name;
    int (*run)();
    trace::Row *row;
};

template <class Entry>
constexpr Call call_of() {
    return {Entry::name, &Zeros<Entry>::call, &trace::Traced<Entry>::row};
}

const Call driver_calls[] = {
#define ZEROS(entry_point) call_of<cushim::entry::entry_point>(),
#include "driver_zeros.inc"
};
const Call runtime_calls[] = {
#include "runtime_zeros.inc"
#undef ZEROS
};

// What calls answered, to be seen by the parent of the process that makes them.
int *shared_answers(unsigned int count) {
    void *pages = mmap(nullptr, count * sizeof(int), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    int *answers = static_cast<int *>(pages);
    for (unsigned int i = 0; i < count; ++i) {
        answers[i] = not_called;
    }
    return answers;
}

// Ends behind a call that succeeds, too: it may have left something.
[[noreturn]] void call_some(const Call *calls, unsigned int count, int *answers) {
    alarm(20);
    for (unsigned int i = 0; i < count && start(); ++i) {
        answers[i] = calls[i].run();
        if (answers[i] == 0) {
            break;
        }
    }
    _exit(0);
}

void tell(const Call &call, int answer, int process) {
    if (answer == not_called) {
        note(call.name, ("ended the process, status " + std::to_string(process)).c_str());
    } else if (answer == no_status) {
        call.row->called = true;
        note(call.name, "called");
    } else {
        call.row->called = true;
        call.row->note(static_cast<unsigned int>(answer));
        ask(call.name, static_cast<CUresult>(answer));
    }
}

void call_all(const Call *calls, unsigned int count) {
    int *answers = shared_answers(count);
    for (unsigned int at = 0; at < count;) {
        const pid_t child = fork();
        if (child == 0) {
            call_some(calls + at, count - at, answers + at);
        }
        int status = 0;
        waitpid(child, &status, 0);
        do {
            tell(calls[at], answers[at], status);
            ++at;
        } while (at < count && answers[at] != not_called);
    }
}

} // namespace

void driver_zeros() {
    call_all(driver_calls, sizeof driver_calls / sizeof *driver_calls);
}

void runtime_zeros() {
    call_all(runtime_calls, sizeof runtime_calls / sizeof *runtime_calls);
}

} // namespace record
