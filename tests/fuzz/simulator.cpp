// The parts of the simulator that its readers use: the lock and a few entry points.
#include "call/call.hpp"
#include "call/faults.hpp"
#include "call/settings.hpp"

#include <cstdint>

namespace sim {

const Row driver_rows[] = {
    {"cuInit", "cuInit", nullptr, 2000, 1, 0, true, true, 0},
    {"cuMemAlloc_v2", "cuMemAlloc", nullptr, 3020, 2, 0, true, false, 1},
};
const unsigned int driver_row_count = 2;
const char *const runtime_names[] = {"cudaMalloc"};
const unsigned int runtime_name_count = 1;

extern "C" const int sim_variant_version = CUDA_VERSION;

std::mutex &Lock::mutex() {
    static std::mutex mutex;
    return mutex;
}
std::condition_variable &Lock::changed() {
    static std::condition_variable changed;
    return changed;
}

} // namespace sim
