#include <algorithm>
#include <string_view>

#include "audit.hpp"

namespace cushim_info {
namespace {

bool is_replaced(LibraryKind kind) {
    return kind == LibraryKind::driver || kind == LibraryKind::runtime;
}

// "a", "a and b", "a, b and c"
std::string joined(const std::vector<std::string> &words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += i == 0 ? "" : i + 1 == words.size() ? " and " : ", ";
        text += words[i];
    }
    return text;
}

void add_once(std::vector<std::string> &words, const std::string &word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) {
        words.push_back(word);
    }
}

// Who links CUDA libraries of some kind, in the order of the chains.
template <typename Condition>
std::vector<std::string> linkers(const std::vector<Chain> &chains, Condition condition) {
    std::vector<std::string> files;
    for (const Chain &chain : chains) {
        if (condition(chain)) {
            add_once(files, chain.linked_by());
        }
    }
    return files;
}

template <typename Condition>
std::vector<std::string> libraries(const std::vector<Chain> &chains, Condition condition) {
    std::vector<std::string> names;
    for (const Chain &chain : chains) {
        if (condition(chain)) {
            add_once(names, chain.library());
        }
    }
    return names;
}

bool has_dropin(const Audit &audit, const std::string &file) {
    return std::any_of(audit.parts.begin(), audit.parts.end(),
                       [&file](const Part &part) { return part.file == file && part.has_dropin; });
}

// How a linker is told of these libraries.
template <typename Condition>
std::string link_options(const Audit &audit, Condition condition) {
    const bool windows = audit.architecture.format == Format::pe;
    std::vector<std::string> options;
    for (const Chain &chain : audit.needed) {
        if (condition(chain)) {
            add_once(options, chain.kind == LibraryKind::driver ? windows ? "cuda.lib" : "-lcuda"
                              : windows                         ? "cudart.lib"
                                                                : "-lcudart");
        }
    }
    return joined(options);
}

// About the driver and the runtime that one file links.
std::string advice_on_links(const Audit &audit, const std::string &file, bool is_audited) {
    const auto of_file = [&file](const Chain &chain) {
        return chain.linked_by() == file && is_replaced(chain.kind);
    };
    const bool is_used = std::any_of(audit.needed.begin(), audit.needed.end(),
                                     [&](const Chain &c) { return of_file(c) && c.is_used; });
    const bool links_runtime =
        std::any_of(audit.needed.begin(), audit.needed.end(),
                    [&](const Chain &c) { return of_file(c) && c.kind == LibraryKind::runtime; });
    const std::string start = file + " links " + joined(libraries(audit.needed, of_file));
    if (!is_used) {
        return start + " and uses no function of it: leave it out of the link" +
               (audit.architecture.format == Format::elf ? ", or link with -Wl,--as-needed." : ".");
    }
    if (has_dropin(audit, file)) {
        return start + " and contains cushim's drop-in as well: take " +
               link_options(audit, of_file) + " out of its link.";
    }
    if (is_audited) {
        return start + ": link cushim's drop-in (cushim-dropin) in place of " +
               link_options(audit, of_file) + "; the code stays as it is." +
               (links_runtime ? " nvcc links a libcudart unless it is told -cudart none." : "");
    }
    return start + ": link cushim's drop-in (cushim-dropin) into it in place of " +
           link_options(audit, of_file) +
           ". If it is not yours to build, load it when the program has found "
           "CUDA, instead of linking it.";
}

void add_on_links(std::vector<std::string> &advice, const Audit &audit) {
    const auto is_own = [](const Chain &chain) {
        return is_replaced(chain.kind) &&
               (chain.is_direct() || library_kind(chain.linked_by()) == LibraryKind::other);
    };
    const std::string &audited = audit.needed.empty() ? audit.path : audit.needed[0].names[0];
    for (const std::string &file : linkers(audit.needed, is_own)) {
        advice.push_back(advice_on_links(audit, file, file == audited));
    }
}

void add_on_toolkit(std::vector<std::string> &advice, const Audit &audit) {
    const auto is_toolkit = [](const Chain &chain) { return chain.kind == LibraryKind::toolkit; };
    const std::vector<std::string> names = libraries(audit.needed, is_toolkit);
    if (names.empty()) {
        return;
    }
    std::string text = joined(names) + ", linked by " + joined(linkers(audit.needed, is_toolkit)) +
                       ": cushim does not stand in for " + (names.size() == 1 ? "it" : "them") +
                       ". Move the code that uses " + (names.size() == 1 ? "it" : "them") +
                       " into a library that the program loads when it has found CUDA";
    text += audit.architecture.format == Format::pe ? ", or link with /DELAYLOAD." : ".";
    advice.push_back(std::move(text));
}

void add_on_delayed(std::vector<std::string> &advice, const Audit &audit) {
    const std::vector<std::string> names =
        libraries(audit.delayed, [](const Chain &) { return true; });
    if (!names.empty()) {
        advice.push_back(joined(names) +
                         ": loaded by the first call. Where it is missing, that call "
                         "ends the program: ask first whether there is CUDA "
                         "(cushim::try_driver()), or link cushim's drop-in.");
    }
}

void add_on_undefined(std::vector<std::string> &advice, const Audit &audit) {
    for (const Use &use : audit.uses) {
        if (!use.library.empty() || use.is_optional || !audit.not_found.empty()) {
            continue;
        }
        advice.push_back(
            use.file + " uses functions of CUDA that nothing loaded with it defines. " +
            (audit.is_program
                 ? "Link cushim's drop-in into it (cushim-dropin), or into the program "
                   "for all of its libraries (cushim-dropin-exported)."
                 : "Link cushim's drop-in into it (cushim-dropin), unless the program "
                   "that loads it defines them (cushim-dropin-exported)."));
    }
}

} // namespace

std::vector<std::string> advice_for(const Audit &audit) {
    std::vector<std::string> advice;
    add_on_links(advice, audit);
    add_on_toolkit(advice, audit);
    add_on_delayed(advice, audit);
    add_on_undefined(advice, audit);
    if (!audit.static_runtime.empty()) {
        advice.push_back("A static libcudart loads the driver when it is first called, so that it "
                         "does not keep a program from starting. With cushim's drop-in "
                         "(cushim-dropin) in its place the file is smaller.");
    }
    return advice;
}

} // namespace cushim_info
