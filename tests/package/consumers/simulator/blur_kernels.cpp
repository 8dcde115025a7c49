// The kernel of blur.cu as a host function, in a shared library for the simulator's setting
// kernels=FILE.
#include <cushim_sim.h>

#include <cstdint>
#include <cstring>

static const cushim_sim *simulator;

template <class T>
static T argument(const cushim_sim_launch *launch, unsigned int index) {
    T value;
    std::memcpy(&value, launch->parameters[index], sizeof value);
    return value;
}

// Runs a whole launch. The name is the one in the image; for a C++ kernel, the mangled name.
static int blur(const cushim_sim_launch *launch, void *) {
    const auto n = argument<int>(launch, 2);
    const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
    auto *to = static_cast<float *>(simulator->view(argument<std::uint64_t>(launch, 0), bytes));
    const auto *from =
        static_cast<const float *>(simulator->view(argument<std::uint64_t>(launch, 1), bytes));
    if (to == nullptr || from == nullptr) {
        return 700; // CUDA_ERROR_ILLEGAL_ADDRESS
    }
    for (int i = 1; i < n - 1; ++i) {
        to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
    }
    return 0;
}

extern "C" void cushim_sim_kernels(const cushim_sim *sim) {
    simulator = sim;
    sim->register_kernel("_Z4blurPfPKfi", blur, nullptr);
}
