#pragma once

#include "../support/expect.h"

#include <sys/wait.h>
#include <unistd.h>

// Runs a function in a child and expects success. A child that hangs is killed.
template <class F>
void in_child(F function) {
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        alarm(30);
        failures = 0;
        function();
        _exit(finish());
    }
    int status = -1;
    EXPECT_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
