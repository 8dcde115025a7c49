// Threads race for their first call through both tables, with a libcudart but without a driver.
// ThreadSanitizer watches the search; every build checks the statuses.
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

#include "../support/expect.h"

#include "../support/in_threads.hpp"

namespace {

constexpr int thread_count = 64;

struct Statuses {
    int of_driver = 0;
    int of_runtime = 0;
};

Statuses call_both_tables(bool driver_first) {
    Statuses seen;
    if (driver_first) {
        seen.of_driver = cushim::driver().cuInit(0);
    }
    seen.of_runtime = cushim::runtime().cudaDeviceSynchronize();
    if (!driver_first) {
        seen.of_driver = cushim::driver().cuInit(0);
    }
    return seen;
}

} // namespace

int main() {
    std::vector<Statuses> seen(thread_count);
    support::in_threads(thread_count,
                        [&](unsigned int i) { seen[i] = call_both_tables(i % 2 == 0); });
    if (cushim_load_report(CUSHIM_LIBRARY_DRIVER)->state == CUSHIM_STATE_LOADED) {
        return 77; // this machine has a driver
    }
    EXPECT_INT(cushim_load_report(CUSHIM_LIBRARY_RUNTIME)->state, CUSHIM_STATE_LOADED);
    for (const Statuses &statuses : seen) {
        EXPECT_INT(statuses.of_driver, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
        EXPECT_INT(statuses.of_runtime, cudaErrorInsufficientDriver);
    }
    return finish();
}
