// Forks while other threads hold the wrappers' locks. The child can use the locks and finds the
// guarded data in a consistent state.
#include <cushim/capture.hpp>
#include <cushim/stream.hpp>
#include <cushim/teardown.hpp>

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/expect.h"

#include "../support/sanitizers.h"

using namespace cushim;

namespace {

void first_sink(const TeardownFailure &, void *) {}
void second_sink(const TeardownFailure &, void *) {}
int first_user, second_user;

// Takes the lock of the known graphs. Fails because the stream does not exist.
void end_a_capture() {
    int place = 0;
    (void)Stream::borrow(reinterpret_cast<CUstream>(&place)).end_capture();
}

void use_sink() {
    set_teardown_sink({first_sink, &first_user});
    set_teardown_sink({second_sink, &second_user});
}

// In the child of a fork.
int use_locks() {
    const TeardownSinkSetting found = set_teardown_sink({});
    EXPECT((found.sink == first_sink && found.user == &first_user) ||
           (found.sink == second_sink && found.user == &second_user));
    EXPECT(set_teardown_sink({}).sink == nullptr);
    end_a_capture();
    return finish();
}

} // namespace

int main() {
#ifdef TEST_ADDRESS_SANITIZER
    // GCC 12's sanitizer keeps its allocator locked in the child if another thread allocated during
    // the fork.
    return 77;
#endif
    use_sink();
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (void (*const use)() : {use_sink, use_sink, use_sink, end_a_capture, end_a_capture}) {
        threads.emplace_back([&done, use] {
            while (!done.load()) {
                use();
            }
        });
    }
    for (int i = 0; i != 300; ++i) {
        const pid_t child = fork();
        EXPECT(child >= 0);
        if (child == 0) {
            alarm(30); // ends a child that waits for a lock
            _exit(use_locks());
        }
        int status = -1;
        EXPECT_INT(waitpid(child, &status, 0), child);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        if (failures != 0) {
            break;
        }
    }
    done.store(true);
    for (std::thread &thread : threads) {
        thread.join();
    }
    return finish();
}
