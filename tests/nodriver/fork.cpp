// Forks after the first use, before it, and during the first uses of other threads. The child calls
// resolved and unresolved entry points.
#include "first_use.hpp"

#include <cushim/detail/loader.h>

#include "../support/sanitizers.h"

#include <atomic>
#include <chrono>
#if defined(__linux__)
#include <sched.h>
#endif
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

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

// Reloads take locks of the dynamic linker, some of which stay locked in the child. Each child also
// loads the driver that its threads did not find.
void fork_during_reloads() {
#ifdef TEST_ADDRESS_SANITIZER
    return;
#endif
    if (with_libraries()) {
        return; // a reload does not search
    }
    std::atomic<bool> done{false};
    std::vector<std::thread> others;
    for (int i = 0; i != 4; ++i) {
        others.emplace_back([&] {
            while (!done.load()) {
                cushim_reload(CUSHIM_LIBRARY_DRIVER);
            }
        });
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    for (int i = 0; i != 1500 && failures == 0 && std::chrono::steady_clock::now() < end; ++i) {
        in_child([] {
            EXPECT_INT(cushim_reload(CUSHIM_LIBRARY_DRIVER), CUSHIM_STATE_ABSENT);
            if (const char *driver = getenv("LATE_DRIVER")) {
                setenv("CUSHIM_DRIVER", driver, 1);
                EXPECT_INT(cushim_reload(CUSHIM_LIBRARY_DRIVER), CUSHIM_STATE_LOADED);
            }
        });
    }
    done.store(true);
    for (std::thread &other : others) {
        other.join();
    }
}

// The first process of a container and its child, the first process of a nested container: both
// have number 1. Returns 77 if the system cannot make them.
int fork_into_namespaces() {
#if defined(__linux__)
    // With a user namespace, which needs no rights.
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
        return 77;
    }
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
    // By _exit, without a sanitizer's leak check: that would start a process, which is impossible
    // after the first process of the namespace has ended.
    if (argc > 1) {
        _exit(fork_into_namespaces());
    }
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
    // The children's uses have no effect here.
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
    fork_during_reloads();
    EXPECT_INT(cushim_fork_generation(), generation);
    return finish();
}
