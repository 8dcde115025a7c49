// The host functions that stand for kernels, and which launched kernels had none.
#include "host_kernels.hpp"

#include <map>
#include <set>

namespace sim {
namespace {

struct State {
    std::map<std::string, HostKernel, std::less<>> registered;
    std::set<std::string, std::less<>> idle;
};

State &state() {
    static auto *state = new State; // used after static destructors
    return *state;
}

} // namespace

void register_kernel(const char *name, cushim_sim_kernel kernel, void *user) {
    if (name == nullptr) {
        return;
    }
    if (kernel == nullptr) {
        state().registered.erase(name);
    } else {
        state().registered[name] = {kernel, user};
    }
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
    state().idle.insert(name);
    return {};
}

std::size_t for_each_idle_kernel(const std::function<void(const std::string &)> &line) {
    for (const std::string &name : state().idle) {
        line("kernel " + name + " has no host function registered");
    }
    return state().idle.size();
}

} // namespace sim
