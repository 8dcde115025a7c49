// Host functions of kernels, and launched kernels without one.
#include "kernel/host_kernels.hpp"
#include "base/immortal.hpp"
#include "image/entity_name.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sim {
namespace {

struct Registered {
    HostKernel kernel;
    std::string name;
    // The first kernel that the name stood for although it has no parameters; empty: none.
    std::string served, served_signature;
};

// A registered name that fits a kernel.
struct Match {
    Registered *registered = nullptr; // null: none
    NameForm form = exact_name;
    std::string signature; // of the kernel
    std::string rival;     // another kernel that the name fits equally, or empty
};

// The matches of the kernels of an image, in their order.
struct Matches {
    std::uint64_t registrations = 0; // number of registrations that they take into account
    std::vector<Match> of_kernels;
};

struct Idle {
    std::uint64_t launches = 0;
    std::string reason;
};

struct State {
    std::map<std::string, Registered, std::less<>> registered;
    // By the registered name without its hash, and by its signature.
    std::map<std::string, Registered *, std::less<>> without_hash, by_signature;
    std::uint64_t registrations = 0;
    std::map<std::weak_ptr<const Image>, Matches, std::owner_less<>> images;
    std::map<std::string, Idle, std::less<>> idle;
};

State &state() {
    static Immortal<State> state;
    return *state;
}

Match match_of(const std::string &name) {
    const NameForms forms = forms_of(name);
    Match match;
    match.signature = forms[signature];
    if (const auto found = state().registered.find(name); found != state().registered.end()) {
        match.registered = &found->second;
        return match;
    }
    for (unsigned char form = name_without_hash; form < name_forms; ++form) {
        const auto &names = form == name_without_hash ? state().without_hash : state().by_signature;
        if (const auto found = names.find(forms[form]); found != names.end()) {
            match.registered = found->second;
            match.form = static_cast<NameForm>(form);
            return match;
        }
    }
    return match;
}

// Sets the rivals: a registered name is for the kernel that it fits most closely.
void find_rivals(std::vector<Match> &matches, const Image &image) {
    std::map<const Registered *, std::vector<std::size_t>> closest;
    for (std::size_t i = 0; i < matches.size(); ++i) {
        if (matches[i].registered != nullptr) {
            std::vector<std::size_t> &kernels = closest[matches[i].registered];
            if (!kernels.empty() && matches[i].form < matches[kernels.front()].form) {
                kernels.clear();
            }
            if (kernels.empty() || matches[i].form == matches[kernels.front()].form) {
                kernels.push_back(i);
            }
        }
    }
    for (std::size_t i = 0; i < matches.size(); ++i) {
        if (matches[i].registered != nullptr) {
            const std::vector<std::size_t> &kernels = closest[matches[i].registered];
            const std::size_t rival = kernels.front() != i ? kernels.front() : kernels.back();
            matches[i].rival = rival == i ? "" : image.kernels[rival].name;
        }
    }
}

const Match &match_in(const std::shared_ptr<const Image> &image, const ImageKernel &kernel) {
    State &s = state();
    auto found = s.images.find(image);
    if (found == s.images.end()) {
        std::erase_if(s.images, [](const auto &each) { return each.first.expired(); });
        found = s.images.emplace(image, Matches{}).first;
    }
    Matches &matches = found->second;
    if (matches.registrations != s.registrations || matches.of_kernels.empty()) {
        std::vector<Match> each;
        for (const ImageKernel &other : image->kernels) {
            each.push_back(match_of(other.name));
        }
        find_rivals(each, *image);
        matches = {s.registrations, std::move(each)};
    }
    return matches.of_kernels[static_cast<std::size_t>(&kernel - image->kernels.data())];
}

std::string quoted(const std::string &text) {
    return '"' + text + '"';
}

// A name to register for a kernel that shares its signature with another one, or not.
std::string own_name(const std::string &kernel, const std::string &rival) {
    const bool same = forms_of(kernel)[signature] == forms_of(rival)[signature];
    return quoted(same ? kernel : readable_name(kernel));
}

std::string reason_without_name(const std::string &kernel) {
    const std::string readable = readable_name(kernel);
    return "no host function is registered for this name" +
           (readable == kernel ? "" : "; register one for " + quoted(readable));
}

std::string ambiguity(const std::string &kernel, const Match &match, const std::string &rival) {
    return "the registered name " + quoted(match.registered->name) + " also fits kernel " + rival +
           "; register a host function for " + own_name(kernel, rival);
}

HostKernel idle(const std::string &kernel, std::string reason) {
    Idle &idle = state().idle[kernel];
    ++idle.launches;
    idle.reason = std::move(reason);
    return {};
}

} // namespace

void register_kernel(const char *name, cushim_sim_kernel kernel, void *user) {
    if (name == nullptr) {
        return;
    }
    State &s = state();
    Registered &registered = s.registered[name];
    registered.kernel = {kernel, user};
    registered.name = name;
    registered.served.clear();
    registered.served_signature.clear();
    const NameForms forms = forms_of(name);
    s.without_hash[forms[name_without_hash]] = &registered;
    // Mangled names of several files may have one signature. A name that is not mangled has
    // precedence, because it means all of them.
    Registered *&of_signature = s.by_signature[forms[signature]];
    if (of_signature == nullptr || readable_name(name) == name) {
        of_signature = &registered;
    }
    ++s.registrations;
}

void clear_kernels() noexcept {
    State &s = state();
    s.images.clear();
    s.without_hash.clear();
    s.by_signature.clear();
    s.registered.clear();
    s.idle.clear();
}

HostKernel host_kernel(const ImageKernel &kernel, const std::shared_ptr<const Image> &image) {
    const auto found = state().registered.find(kernel.name);
    if (found != state().registered.end()) {
        return found->second.kernel;
    }
    const Match &match = match_in(image, kernel);
    if (match.registered == nullptr) {
        return idle(kernel.name, reason_without_name(kernel.name));
    }
    if (!match.rival.empty()) {
        return idle(kernel.name, ambiguity(kernel.name, match, match.rival));
    }
    if (match.form > signature) {
        Registered &registered = *match.registered;
        if (registered.served.empty()) {
            registered.served_signature = match.signature;
            registered.served = kernel.name;
        } else if (registered.served_signature != match.signature) {
            return idle(kernel.name, ambiguity(kernel.name, match, registered.served));
        }
    }
    return match.registered->kernel;
}

std::size_t for_each_idle_kernel(const std::function<void(const std::string &)> &line) {
    for (const auto &[name, idle] : state().idle) {
        line("kernel " + name + " was launched " +
             (idle.launches == 1 ? "once" : std::to_string(idle.launches) + " times") +
             " and computed nothing: " + idle.reason);
    }
    return state().idle.size();
}

} // namespace sim
