// Forks while other threads load libraries and resolve entry points. The child calls resolved and
// unresolved entry points.
#include "first_use.hpp"
#include "in_child.hpp"

#include <cushim/detail/loader.h>

#include "../support/sanitizers.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

void fork_during_first_uses() {
    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done.load()) {
            cushim_reload(CUSHIM_LIBRARY_RUNTIME);
            cushim_resolve_all(CUSHIM_LIBRARY_DRIVER);
        }
    });
    for (int i = 0; i != 20; ++i) {
        in_child([] {
            expect_answer(cushim::driver().cuCtxSynchronize());
            expect_answer(cushim::runtime().cudaDeviceReset());
            expect_states();
        });
    }
    done.store(true);
    other.join();
}

// Reloads take locks of the dynamic linker, some of which stay locked in the child. Each child also
// loads the driver that its threads did not find.
void fork_during_reloads() {
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

} // namespace

int main() {
#ifdef TEST_ADDRESS_SANITIZER // see fork_wrappers.cpp
    return 77;
#endif
    const unsigned int generation = cushim_fork_generation();
    expect_answer(cushim::driver().cuInit(0));
    expect_answer(cushim::runtime().cudaDeviceSynchronize());
    fork_during_first_uses();
    fork_during_reloads();
    EXPECT_INT(cushim_fork_generation(), generation);
    return finish();
}
