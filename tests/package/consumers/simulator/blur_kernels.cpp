// The kernel of blur.cu as a host function, in a shared library for the simulator's setting
// kernels=FILE.
#include <cushim_sim.hpp>

extern "C" void cushim_sim_kernels(const cushim_sim *table) {
    const cushim::sim::Simulator simulator(table);
    simulator.kernel("blur", [](const cushim::sim::Launch &launch, std::span<float> to,
                                std::span<const float> from, int n) {
        const auto &weights = launch.variable<float[3]>("weights");
        for (int i = 1; i < n - 1; ++i) {
            to[i] = weights[0] * from[i - 1] + weights[1] * from[i] + weights[2] * from[i + 1];
        }
    });
}
