// Other processes for questions that need one.
#pragma once

#include "../record.hpp"
#include "../trace.hpp"

#include <cstdio>
#include <string>
#include <unistd.h>

#include <sys/types.h>
#include <sys/wait.h>

namespace record {

// A process that was forked before the first CUDA call, and pipes in both directions. It prints its
// own results, so each process waits until the other is done.
struct Other {
    pid_t process;
    int in, out;

    template <class Value>
    void send(const Value &value) const {
        if (write(out, &value, sizeof value) != sizeof value) {
            std::perror("write");
            _exit(1);
        }
    }
    template <class Value>
    Value receive() const {
        Value value{};
        if (read(in, &value, sizeof value) != sizeof value) {
            std::perror("read");
            _exit(1);
        }
        return value;
    }
};

inline Other fork_off(void (*body)(const Other &)) {
    int to_child[2], to_parent[2];
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) {
        std::perror("pipe");
        _exit(1);
    }
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        close(to_child[1]);
        close(to_parent[0]);
        body({getppid(), to_child[0], to_parent[1]});
        std::fflush(stdout);
        _exit(0);
    }
    close(to_child[0]);
    close(to_parent[1]);
    return {child, to_parent[0], to_child[1]};
}

// Asks questions in a process of its own: some calls crash it or fail a context. Returns how it
// ended. `calls`: prints its calls, which the parent does not see.
inline int ended_apart(const std::string &name, const auto &body, bool calls) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30); // a child does not inherit its parent's alarm
        title = name + ": ";
        body();
        if (calls) {
            trace::print();
        }
        std::fflush(stdout);
        _exit(0);
    }
    alarm(60); // restarts the section's limit: some sections have many processes
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

// The same, and prints how the process ended.
inline void ask_apart(const std::string &name, const auto &body) {
    note(name + ": the process's end", ended_apart(name, body, true));
}

// The same in few lines: without the calls, and the end only if it is abnormal.
inline void ask_in_short(const std::string &name, const auto &body) {
    if (const int status = ended_apart(name, body, false)) {
        std::puts(""); // the process may have begun a line
        note(name + ": the process's end", status);
    }
}

} // namespace record
