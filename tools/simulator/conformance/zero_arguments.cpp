// Calls every entry point with zero arguments while device 0's primary context is current. A call
// may crash the driver, so the calls run in a child process; after a crash, a new child continues
// with the next call.
#include "record.hpp"
#include "trace.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace record {

namespace {

constexpr int not_called = -1;

using trace::Row;

std::vector<Row *> rows_of(trace::Zeros zeros) {
    std::vector<Row *> rows;
    for (Row *row = trace::first_row(); row; row = row->next) {
        if (row->zeros == zeros) {
            rows.push_back(row);
        }
    }
    return rows;
}

// The result of a call, in memory shared with the parent of its process.
struct Answer {
    int status = not_called;
    int process = 0; // wait status, if the call ended the process
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

// The child is killed when the section's process ends.
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

// Also ends after a call that succeeds, since it may have left state behind.
void call_some(Row *const *rows, unsigned int count, Answer *answers) {
    alarm(10);
    for (unsigned int i = 0; i < count && start(); ++i) {
        answers[i].status = rows[i]->call_with_zeros();
        if (answers[i].status == 0) {
            break;
        }
    }
}

void call_block(Row *const *rows, unsigned int count, Answer *answers) {
    for (unsigned int at = 0; at < count;) {
        const pid_t child = fork_off([&] { call_some(rows + at, count - at, answers + at); });
        waitpid(child, &answers[at].process, 0);
        do {
            ++at;
        } while (at < count && answers[at].status != not_called);
    }
}

void tell(Row &row, const Answer &answer) {
    if (answer.status == not_called) {
        note_text(row.name,
                  ("ended the process, status " + std::to_string(answer.process)).c_str());
        return;
    }
    row.called = true;
    if (answer.status == trace::no_status) {
        note(row.name, "called");
    } else {
        row.note(static_cast<unsigned int>(answer.status));
        ask(row.name, answer.status);
    }
}

// Starting a driver takes most of a second per process, and there are hundreds: several run at
// once.
void call_all(trace::Zeros zeros) {
    constexpr unsigned int blocks = 8;
    const std::vector<Row *> rows = rows_of(zeros);
    const auto count = static_cast<unsigned int>(rows.size());
    Answer *answers = shared_answers(count);
    pid_t children[blocks] = {};
    for (unsigned int i = 0; i < blocks; ++i) {
        const unsigned int from = count * i / blocks, to = count * (i + 1) / blocks;
        children[i] = fork_off([&] { call_block(rows.data() + from, to - from, answers + from); });
    }
    for (const pid_t child : children) {
        waitpid(child, nullptr, 0);
    }
    for (unsigned int i = 0; i < count; ++i) {
        tell(*rows[i], answers[i]);
    }
}

} // namespace

SECTION("driver_zeros") {
    call_all(trace::Zeros::driver);
}

SECTION("runtime_zeros") {
    call_all(trace::Zeros::runtime);
}

} // namespace record
