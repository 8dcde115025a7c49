// Forks: after the first use, before it, and in the middle of the first uses of other threads. The
// child calls what was resolved and what was not.
#include "first_use.hpp"

#include <cushim/detail/loader.h>

#include "../support/sanitizers.h"

#include <atomic>
#if defined(__linux__)
#include <sched.h>
#endif
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

// Runs a function in a child that is killed if it hangs, and expects it to end well.
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

void use_early_entries() {
    expect_answer(cushim::driver().cuInit(0));
    expect_answer(cushim::runtime().cudaDeviceSynchronize());
}

void use_late_entries() {
    expect_answer(cushim::driver().cuCtxSynchronize());
    expect_answer(cushim::runtime().cudaDeviceReset());
}

void fork_during_first_uses() {
#ifdef TEST_ADDRESS_SANITIZER // see fork_wrappers.cpp
    return;
#endif
    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done.load()) {
            cushim_reload(CUSHIM_LIBRARY_RUNTIME);
            cushim_resolve_all(CUSHIM_LIBRARY_DRIVER);
        }
    });
    for (int i = 0; i != 20; ++i) {
        in_child([] {
            use_late_entries();
            expect_states();
        });
    }
    done.store(true);
    other.join();
}

// The first process of a container, and its child that is the first of a container inside it: both
// have number 1. 77 where there are no containers.
int fork_into_namespaces() {
#if defined(__linux__)
    // With a user namespace, in which everybody may do this.
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return 77;
    in_child([generation = cushim_fork_generation()] {
        EXPECT_INT(getpid(), 1);
        EXPECT_INT(cushim_fork_generation(), generation + 1);
        EXPECT_INT(unshare(CLONE_NEWPID), 0);
        in_child([generation] {
            EXPECT_INT(getpid(), 1);
            EXPECT_INT(cushim_fork_generation(), generation + 2);
        });
    });
    return finish();
#else
    return 77;
#endif
}

} // namespace

int main(int argc, char **) {
    // Without the leak check of a sanitizer: it starts a process of its own, and this one can have
    // no more, since the first of its namespace has ended.
    if (argc > 1)
        _exit(fork_into_namespaces());
    const unsigned int generation = cushim_fork_generation();
    expect_not_tried();
    in_child([generation] {
        expect_not_tried();
        use_early_entries();
        expect_states();
        EXPECT_INT(cushim_may_call(generation), 0);
        EXPECT_INT(cushim_fork_generation(), generation + 1);
        EXPECT_INT(cushim_may_call(generation + 1), 1);
        in_child([generation] {
            EXPECT_INT(cushim_may_call(generation + 1), 0);
            EXPECT_INT(cushim_fork_generation(), generation + 2);
        });
    });
    // What the children did is their own.
    expect_not_tried();
    EXPECT_INT(cushim_fork_generation(), generation);
    EXPECT_INT(cushim_may_call(generation), 1);

    use_early_entries();
    in_child([] {
        use_early_entries();
        use_late_entries();
        expect_states();
    });
    use_late_entries();
    fork_during_first_uses();
    EXPECT_INT(cushim_fork_generation(), generation);
    return finish();
}
