// Forks after the first use and before it. The child calls resolved and unresolved entry points.
#include "first_use.hpp"
#include "in_child.hpp"

#include <cushim/detail/loader.h>

#if defined(__linux__)
#include <sched.h>
#endif

namespace {

void use_early_entries() {
    expect_answer(cushim::driver().cuInit(0));
    expect_answer(cushim::runtime().cudaDeviceSynchronize());
}

void use_late_entries() {
    expect_answer(cushim::driver().cuCtxSynchronize());
    expect_answer(cushim::runtime().cudaDeviceReset());
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
    EXPECT_INT(cushim_fork_generation(), generation);
    return finish();
}
