// The host function of the kernel, for the setting kernels=FILE: it stays registered after
// a reset.
#include <cushim_sim.h>

#include <cstdint>
#include <cstring>

static const cushim_sim *simulator;

// count(int *numbers, unsigned int n)
static int count(const cushim_sim_launch *launch, void *) {
    std::uint64_t address;
    std::uint32_t n;
    std::memcpy(&address, launch->parameters[0], sizeof address);
    std::memcpy(&n, launch->parameters[1], sizeof n);
    auto *const numbers = static_cast<int *>(simulator->view(address, n * sizeof(int)));
    for (std::uint32_t i = 0; numbers != nullptr && i < n; ++i) {
        numbers[i] = static_cast<int>(i);
    }
    return numbers != nullptr ? 0 : 700; // CUDA_ERROR_ILLEGAL_ADDRESS
}

extern "C" void cushim_sim_kernels(const cushim_sim *sim) {
    simulator = sim;
    sim->register_kernel("count", count, nullptr);
}
