#include "kernel/kernel_variable.hpp"
#include "call/misuse.hpp"
#include "engine/memory.hpp"
#include "image/entity_name.hpp"

#include <algorithm>
#include <vector>

namespace sim {
namespace {

constexpr std::size_t listed = 8; // variables in a report line

using Variables = std::vector<const ImageVariable *>;

// The variables that the name fits in its most specific form.
Variables best_fits(const Image &image, const std::string &name) {
    const NameForms wanted = forms_of(name);
    std::vector<Variables> fits(name_forms);
    for (const ImageVariable &variable : image.variables) {
        const NameForms forms = forms_of(variable.name);
        for (unsigned char form = exact_name; form < name_forms; ++form) {
            if (forms[form] == wanted[std::min<unsigned char>(form, signature)]) {
                fits[form].push_back(&variable);
                break;
            }
        }
    }
    const auto best = std::find_if(fits.begin(), fits.end(),
                                   [](const Variables &variables) { return !variables.empty(); });
    return best == fits.end() ? Variables{} : *best;
}

std::string list_of(const Image &image) {
    std::string list;
    for (std::size_t i = 0; i < std::min(image.variables.size(), listed); ++i) {
        list += (i == 0 ? "" : ", ") + readable_name(image.variables[i].name);
    }
    return image.variables.size() > listed ? list + ", ..." : list;
}

std::uintptr_t address_of(const Module &module, const ImageVariable &variable) {
    const auto own = module.variables.find(variable.name);
    return own != module.variables.end() ? own->second
                                         : module.library->managed.find(variable.name)->second;
}

} // namespace

VariableView kernel_variable(const Module &module, const std::string &kernel,
                             const std::string &name) {
    const Image &image = *module.image;
    const ImageVariable *variable = image.variable(name);
    if (variable == nullptr) {
        const Variables fits = best_fits(image, name);
        if (fits.empty()) {
            misuse("kernel " + kernel + " uses variable \"" + name + "\", which its module lacks" +
                   (image.variables.empty() ? "" : "; it has " + list_of(image)));
            return {};
        }
        if (fits.size() > 1) {
            misuse("kernel " + kernel + " uses variable \"" + name + "\", which may be " +
                   fits[0]->name + " or " + fits[1]->name);
            return {};
        }
        variable = fits.front();
    }
    const Range *range = AddressSpace::get().find_base(address_of(module, *variable));
    return range == nullptr ? VariableView{} : VariableView{range->view, range->size};
}

} // namespace sim
