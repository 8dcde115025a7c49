// A user's library for the setting kernels=FILE. It implements the kernel `add` of vector_image.
#include <cushim_sim.h>

#include <cstdint>
#include <cstring>

namespace {

const cushim_sim *simulator = nullptr;

// add(const float *a, const float *b, float *sum, unsigned int n)
int add(const cushim_sim_launch *launch, void *) {
    std::uint64_t addresses[3];
    for (int i = 0; i < 3; ++i) {
        std::memcpy(&addresses[i], launch->parameters[i], sizeof addresses[i]);
    }
    unsigned int n = 0;
    std::memcpy(&n, launch->parameters[3], sizeof n);
    const auto *a = static_cast<const float *>(simulator->view(addresses[0], n * sizeof(float)));
    const auto *b = static_cast<const float *>(simulator->view(addresses[1], n * sizeof(float)));
    auto *sum = static_cast<float *>(simulator->view(addresses[2], n * sizeof(float)));
    if (a == nullptr || b == nullptr || sum == nullptr) {
        return 700; // CUDA_ERROR_ILLEGAL_ADDRESS
    }
    for (unsigned int i = 0; i < n; ++i) {
        sum[i] = a[i] + b[i];
    }
    return 0;
}

} // namespace

void cushim_sim_kernels(const cushim_sim *sim) {
    simulator = sim;
    sim->register_kernel("add", add, nullptr);
}
