// Every entry point with zeros for arguments, device 0's primary context being current. A driver may not
// survive that: the calls are made in a process apart, and the next one goes on behind the call that ended it.
#include "record.hpp"
#include "trace.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/prctl.h>
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

// What a call answered, to be seen by the parent of the process that made it.
struct Answer {
    int status = not_called;
    int process = 0; // how it ended, where the call ended it
};

Answer *shared_answers(unsigned int count) {
    void *pages = mmap(nullptr, count * sizeof(Answer), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    Answer *answers = static_cast<Answer *>(pages);
    std::fill_n(answers, count, Answer{});
    return answers;
}

// Nothing here outlives the section.
template <class Body>
pid_t fork_off(Body body) {
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body();
        _exit(0);
    }
    return child;
}

// Ends behind a call that succeeds, too: it may have left something.
void call_some(const Call *calls, unsigned int count, Answer *answers) {
    alarm(10);
    for (unsigned int i = 0; i < count && start(); ++i) {
        answers[i].status = calls[i].run();
        if (answers[i].status == 0) {
            break;
        }
    }
}

void call_block(const Call *calls, unsigned int count, Answer *answers) {
    for (unsigned int at = 0; at < count;) {
        const pid_t child = fork_off([&] { call_some(calls + at, count - at, answers + at); });
        waitpid(child, &answers[at].process, 0);
        do {
            ++at;
        } while (at < count && answers[at].status != not_called);
    }
}

void tell(const Call &call, const Answer &answer) {
    if (answer.status == not_called) {
        note(call.name, ("ended the process, status " + std::to_string(answer.process)).c_str());
    } else if (answer.status == no_status) {
        call.row->called = true;
        note(call.name, "called");
    } else {
        call.row->called = true;
        call.row->note(static_cast<unsigned int>(answer.status));
        ask(call.name, static_cast<CUresult>(answer.status));
    }
}

// A process takes a driver most of a second, and there are hundreds: some at a time.
void call_all(const Call *calls, unsigned int count) {
    constexpr unsigned int blocks = 8;
    Answer *answers = shared_answers(count);
    pid_t children[blocks] = {};
    for (unsigned int i = 0; i < blocks; ++i) {
        const unsigned int from = count * i / blocks, to = count * (i + 1) / blocks;
        children[i] = fork_off([&] { call_block(calls + from, to - from, answers + from); });
    }
    for (const pid_t child : children) {
        waitpid(child, nullptr, 0);
    }
    for (unsigned int i = 0; i < count; ++i) {
        tell(calls[i], answers[i]);
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
