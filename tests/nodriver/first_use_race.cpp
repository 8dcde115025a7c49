// Threads that race on their first call, through both tables, where there is a libcudart and no
// driver. ThreadSanitizer watches the search; every build checks the statuses.
#include <cushim/cushim.hpp>

#include "expect.h"

#include <atomic>
#include <thread>
#include <vector>

namespace {

constexpr int thread_count = 64;

struct Statuses {
    int of_driver = 0;
    int of_runtime = 0;
};

Statuses call_both_tables(bool driver_first) {
    Statuses seen;
    if (driver_first)
        seen.of_driver = cushim::driver().cuInit(0);
    seen.of_runtime = cushim::runtime().cudaDeviceSynchronize();
    if (!driver_first)
        seen.of_driver = cushim::driver().cuInit(0);
    return seen;
}

} // namespace

int main() {
    std::atomic<int> arriving{thread_count};
    std::vector<Statuses> seen(thread_count);
    std::vector<std::thread> threads;
    for (int i = 0; i != thread_count; ++i)
        threads.emplace_back([&, i] {
            arriving.fetch_sub(1);
            while (arriving.load() != 0)
                std::this_thread::yield();
            seen[static_cast<size_t>(i)] = call_both_tables(i % 2 == 0);
        });
    for (std::thread &thread : threads)
        thread.join();
    if (cushim_load_report(CUSHIM_LIBRARY_DRIVER)->state == CUSHIM_STATE_LOADED)
        return 77; // this machine has a driver
    EXPECT_INT(cushim_load_report(CUSHIM_LIBRARY_RUNTIME)->state, CUSHIM_STATE_LOADED);
    for (const Statuses &statuses : seen) {
        EXPECT_INT(statuses.of_driver, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
        EXPECT_INT(statuses.of_runtime, cudaErrorInsufficientDriver);
    }
    return finish();
}
