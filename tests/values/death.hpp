// Whether a function aborts, and what it prints first. Not for Windows, which has no fork.
#pragma once

#include <string>

#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace values {

// The function's standard error output in a child process that ended by abort(); "did not abort" if
// it ended otherwise.
inline std::string aborts_with(void (*function)()) {
    int ends[2];
    if (pipe(ends) != 0) {
        return "no pipe";
    }
    const pid_t child = fork();
    if (child == 0) {
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        function();
        _exit(0);
    }
    close(ends[1]);
    std::string written;
    char part[256];
    for (ssize_t count = 0; (count = read(ends[0], part, sizeof part)) > 0;) {
        written.append(part, static_cast<std::size_t>(count));
    }
    close(ends[0]);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status) ||
        WTERMSIG(status) != SIGABRT) {
        return "did not abort";
    }
    // An emulator appends its own line.
    return written.substr(0, written.find("qemu: uncaught target signal"));
}

} // namespace values
