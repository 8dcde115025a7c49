#include "soak_uses.hpp"

#include "../harness/simulator.hpp"
#include "soak_partner.hpp"
#include "soak_vulkan.hpp"

namespace gpu_test {

using api_test::Use;

namespace {

std::vector<Use> uses_of_each_round() {
    std::vector<Use> uses = api_test::all_uses();
    uses.push_back(partner_use());
    if (api_test::simulator() == nullptr) {
        std::erase_if(uses, [](const Use &use) {
            return std::string_view(use.name).ends_with("of another API");
        });
        uses.insert(uses.end(), vulkan_uses().begin(), vulkan_uses().end());
    }
    return uses;
}

std::vector<Use> uses_with_names() {
    std::vector<Use> uses = uses_of_each_round();
    uses.push_back(api_test::own_context_use());
    return uses;
}

} // namespace

std::vector<Use> wanted_uses(std::string_view name) {
    if (name.empty()) {
        return uses_of_each_round();
    }
    std::vector<Use> uses = uses_with_names();
    std::erase_if(uses, [&](const Use &use) { return use.name != name; });
    return uses;
}

std::string names_of_uses() {
    std::string names;
    for (const Use &use : uses_with_names()) {
        names += std::string(use.name) + '\n';
    }
    return names;
}

} // namespace gpu_test
