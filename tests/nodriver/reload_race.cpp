// Threads reload repeatedly while a driver is being installed. None of them may replace the driver
// that another has found by "absent".
//
// usage: reload_race DRIVER
#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

#include "../support/expect.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int thread_count = 4;

std::atomic<int> lost{0};          // reloads after the installation that found no driver
std::atomic<int> misunderstood{0}; // "absent" reported as a status of the driver
std::atomic<int> arriving{thread_count + 1};

void wait_for_all() {
    arriving.fetch_sub(1);
    while (arriving.load() != 0) {
        std::this_thread::yield();
    }
}

void try_init() {
    const auto started = cushim::init();
    if (!started && started.error().status() == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED &&
        started.error().kind() != cushim::ErrorKind::library_not_found) {
        misunderstood.fetch_add(1);
    }
}

void reload_until(const std::atomic<bool> &installed) {
    wait_for_all();
    for (bool last = false; !last;) {
        last = installed.load();
        if (cushim_reload(CUSHIM_LIBRARY_DRIVER) != CUSHIM_STATE_LOADED && last) {
            lost.fetch_add(1);
        }
        try_init();
    }
}

} // namespace

int main(int, char **argv) {
    char folder[] = "/tmp/cushim-reload-race-XXXXXX";
    if (mkdtemp(folder) == nullptr) {
        return 1;
    }
    const std::string driver = std::string(folder) + "/libcuda.so.1";
    setenv("CUSHIM_DRIVER", driver.c_str(), 1);
    EXPECT_INT(cushim_load(CUSHIM_LIBRARY_DRIVER), CUSHIM_STATE_ABSENT);

    std::atomic<bool> installed{false};
    std::vector<std::thread> threads;
    for (int i = 0; i != thread_count; ++i) {
        threads.emplace_back([&] { reload_until(installed); });
    }
    wait_for_all();
    std::filesystem::create_symlink(argv[1], driver);
    installed.store(true);
    for (std::thread &thread : threads) {
        thread.join();
    }

    EXPECT_INT(lost.load(), 0);
    EXPECT_INT(misunderstood.load(), 0);
    EXPECT_INT(cushim_load(CUSHIM_LIBRARY_DRIVER), CUSHIM_STATE_LOADED);
    std::filesystem::remove_all(folder);
    return finish();
}
