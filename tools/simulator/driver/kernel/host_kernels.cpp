// Host functions of kernels, and launched kernels without one.
#include "kernel/host_kernels.hpp"
#include "base/immortal.hpp"

#include <cstdint>
#include <map>

namespace sim {
namespace {

struct State {
    std::map<std::string, HostKernel, std::less<>> registered;
    std::map<std::string, std::uint64_t, std::less<>> idle; // number of launches of each
};

State &state() {
    static Immortal<State> state;
    return *state;
}

} // namespace

void register_kernel(const char *name, cushim_sim_kernel kernel, void *user) {
    if (name == nullptr) {
        return;
    }
    state().registered[name] = {kernel, user};
}

void clear_kernels() noexcept {
    state().registered.clear();
    state().idle.clear();
}

HostKernel host_kernel(const std::string &name) {
    const auto found = state().registered.find(name);
    if (found != state().registered.end()) {
        return found->second;
    }
    ++state().idle[name];
    return {};
}

std::size_t for_each_idle_kernel(const std::function<void(const std::string &)> &line) {
    for (const auto &[name, launches] : state().idle) {
        line("kernel " + name + " was launched " +
             (launches == 1 ? "once" : std::to_string(launches) + " times") +
             " and computed nothing: no host function is registered for this name");
    }
    return state().idle.size();
}

} // namespace sim
