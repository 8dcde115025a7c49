// A second process for questions that need one.
#pragma once

#include <cstdio>
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

} // namespace record
