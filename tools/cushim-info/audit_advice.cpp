#include <algorithm>
#include <iterator>
#include <string_view>

#include "audit.hpp"
#include "lines.hpp"

namespace cushim_info {
namespace {

bool is_replaced(LibraryKind kind) {
    return kind == LibraryKind::driver || kind == LibraryKind::runtime;
}

void add_once(std::vector<std::string> &words, const std::string &word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) {
        words.push_back(word);
    }
}

// The files that link CUDA libraries of a kind, in the order of the chains.
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

bool is_pe(const Audit &audit) {
    return audit.architecture.format == Format::pe;
}

// The linker option for the driver or the runtime.
std::string link_option(const Audit &audit, LibraryKind kind) {
    return kind == LibraryKind::driver ? is_pe(audit) ? "cuda.lib" : "-lcuda"
           : is_pe(audit)              ? "cudart.lib"
                                       : "-lcudart";
}

// Functions that the drop-in lacks.
std::vector<std::string> interop_functions(const Use &use) {
    std::vector<std::string> functions;
    std::copy_if(use.functions.begin(), use.functions.end(), std::back_inserter(functions),
                 is_interop_function);
    return functions;
}

template <typename Condition>
std::vector<std::string> interop_functions(const Audit &audit, Condition condition) {
    std::vector<std::string> all;
    for (const Use &use : audit.uses) {
        if (condition(use)) {
            const std::vector<std::string> functions = interop_functions(use);
            all.insert(all.end(), functions.begin(), functions.end());
        }
    }
    return all;
}

// The linker options of one file for the driver and the runtime.
struct Links {
    std::vector<std::string> replaced; // replaced by the drop-in
    std::vector<std::string> kept;     // needed for `interop`
    std::vector<std::string> interop;
    bool replaces_runtime = false;
};

Links links_of(const Audit &audit, const std::string &file) {
    Links links;
    for (const Chain &chain : audit.needed) {
        if (chain.linked_by() != file || !is_replaced(chain.kind)) {
            continue;
        }
        const std::vector<std::string> functions = interop_functions(audit, [&](const Use &use) {
            return use.file == file && library_kind(use.library) == chain.kind;
        });
        add_once(functions.empty() ? links.replaced : links.kept, link_option(audit, chain.kind));
        for (const std::string &function : functions) {
            add_once(links.interop, function);
        }
        links.replaces_runtime =
            links.replaces_runtime || (functions.empty() && chain.kind == LibraryKind::runtime);
    }
    return links;
}

// Whether the drop-in lacks all driver and runtime functions that a file uses.
bool uses_interop_only(const Audit &audit, const std::string &file) {
    return std::all_of(audit.uses.begin(), audit.uses.end(), [&file](const Use &use) {
        return use.file != file || !is_replaced(library_kind(use.library)) ||
               std::all_of(use.functions.begin(), use.functions.end(), is_interop_function);
    });
}

std::string code_to_move(const Audit &audit, const std::string &what) {
    return " the code that uses " + what +
           " into a library that the program loads when it has found CUDA" +
           (is_pe(audit) ? ", or link with /DELAYLOAD." : ".");
}

constexpr const char *instead_of_linking =
    "load it when the program has found CUDA, instead of linking it.";

// For a file that still needs these libraries.
std::string how_to_do_without(const Audit &audit, const Links &links, bool is_audited) {
    const std::string start = " To start without CUDA, ";
    return start + (is_audited
                        ? "move" + code_to_move(audit, links.interop.size() == 1 ? "it" : "them")
                        : instead_of_linking);
}

// For the links of a file that does not contain the drop-in.
std::string how_to_replace(const Links &links, bool is_audited) {
    std::string text = ": link cushim's drop-in (cushim-dropin)";
    text += is_audited ? "" : " into it";
    text += links.replaced.empty() ? "" : " in place of " + joined(links.replaced);
    if (!links.kept.empty()) {
        text += ", and keep " + joined(links.kept) + " after it for " +
                functions_text(links.interop) + ", which it lacks";
    }
    if (!is_audited) {
        return text + ".";
    }
    return text + "; the code stays as it is." +
           (links.replaces_runtime
                ? " nvcc and CMake link a shared libcudart only on request: remove "
                  "-cudart shared, or CUDA_RUNTIME_LIBRARY Shared, without replacing it."
                : "");
}

// For a file with functions of the CUDA interop headers.
std::string advice_on_interop(const Audit &audit, const std::string &file, const Links &links,
                              bool is_audited) {
    if (has_dropin(audit, file)) {
        return " but also contains cushim's drop-in: " +
               (links.replaced.empty()
                    ? ""
                    : "remove " + joined(links.replaced) + " from its link, and ") +
               "keep " + joined(links.kept) + " after the drop-in for " +
               functions_text(links.interop) + ", which it lacks.";
    }
    if (links.replaced.empty() && uses_interop_only(audit, file)) {
        return " for " + functions_text(links.interop) + ", which cushim's drop-in lacks.";
    }
    return how_to_replace(links, is_audited);
}

// Whether a file links this library itself.
bool links_itself(const Audit &audit, const std::string &file, const std::string &library) {
    return std::any_of(audit.needed.begin(), audit.needed.end(), [&](const Chain &chain) {
        return chain.linked_by() == file && chain.library() == library;
    });
}

// Whether the file finds the functions of a CUDA library that it needs only because another file
// links the library. On Windows, an import names its DLL.
bool is_borrowed(const Audit &audit, const Use &use) {
    return !is_pe(audit) && !use.is_optional && is_replaced(library_kind(use.library)) &&
           !links_itself(audit, use.file, use.library);
}

std::vector<std::string> borrowers(const Audit &audit, const std::vector<std::string> &names) {
    std::vector<std::string> files;
    for (const Use &use : audit.uses) {
        if (is_borrowed(audit, use) &&
            std::find(names.begin(), names.end(), use.library) != names.end()) {
            add_once(files, use.file);
        }
    }
    return files;
}

// For libraries that a file links without using their functions, which only ELF permits. The file
// may look functions up by name, and so may the files loaded with it; no file shows that.
std::string advice_on_idle_links(const Audit &audit, const std::vector<std::string> &names) {
    const std::string them = names.size() == 1 ? "it" : "them";
    const std::vector<std::string> files = borrowers(audit, names);
    return std::string(" but uses none of ") + (names.size() == 1 ? "its" : "their") +
           " functions. " +
           (files.empty() ? "Leave "
                          : joined(files) + (files.size() == 1 ? " uses " : " use ") + them +
                                " without linking " + them + "; once that is fixed, leave ") +
           them +
           " out of the link, or link with -Wl,--as-needed. Code that looks functions up by name "
           "(dlsym) must then load " +
           them + " itself.";
}

// For the driver and the runtime that one file links.
std::string advice_on_links(const Audit &audit, const std::string &file, bool is_audited) {
    const auto of_file = [&file](const Chain &chain) {
        return chain.linked_by() == file && is_replaced(chain.kind);
    };
    const bool is_used = std::any_of(audit.needed.begin(), audit.needed.end(),
                                     [&](const Chain &c) { return of_file(c) && c.is_used; });
    const std::vector<std::string> names = libraries(audit.needed, of_file);
    const std::string start = file + " links " + joined(names);
    if (!is_used) {
        return start + advice_on_idle_links(audit, names);
    }
    const Links links = links_of(audit, file);
    if (!links.interop.empty()) {
        return start + advice_on_interop(audit, file, links, is_audited) +
               how_to_do_without(audit, links, is_audited);
    }
    if (has_dropin(audit, file)) {
        return start + " but also contains cushim's drop-in: remove " + joined(links.replaced) +
               " from its link.";
    }
    return start + how_to_replace(links, is_audited) +
           (is_audited ? "" : std::string(" If you do not build it, ") + instead_of_linking);
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

void add_on_other_toolkit(std::vector<std::string> &advice, const Audit &audit) {
    const auto is_other = [](const Chain &chain) {
        return chain.kind == LibraryKind::toolkit && dropin_of(chain.library()).empty();
    };
    const std::vector<std::string> names = libraries(audit.needed, is_other);
    if (names.empty()) {
        return;
    }
    std::string text = joined(names) + ", linked by " + joined(linkers(audit.needed, is_other)) +
                       ": cushim does not replace " + (names.size() == 1 ? "it" : "them") +
                       ". Move" + code_to_move(audit, names.size() == 1 ? "it" : "them");
    advice.push_back(std::move(text));
}

// Whether a file contains the drop-in of a toolkit library.
bool has_dropin_of(const Audit &audit, const std::string &file, std::string_view library) {
    return std::any_of(audit.parts.begin(), audit.parts.end(), [&](const Part &part) {
        return part.file == file && std::find(part.libraries.begin(), part.libraries.end(),
                                              library) != part.libraries.end();
    });
}

// For the toolkit libraries with drop-ins that one file links.
void add_on_toolkit_of(std::vector<std::string> &advice, const Audit &audit,
                       const std::string &file) {
    std::vector<std::string> replaced, dropins, options, contained;
    for (const Chain &chain : audit.needed) {
        const std::string name(chain.kind == LibraryKind::toolkit ? dropin_of(chain.library())
                                                                  : "");
        if (name.empty() || chain.linked_by() != file) {
            continue;
        }
        if (has_dropin_of(audit, file, name)) {
            add_once(contained, chain.library());
            continue;
        }
        add_once(replaced, chain.library());
        add_once(dropins, "cushim-" + name + "-dropin");
        add_once(options, name);
    }
    if (!contained.empty()) {
        advice.push_back(
            file + " links " + joined(contained) + " but also contains " +
            (contained.size() == 1 ? "its drop-in: remove it" : "their drop-ins: remove them") +
            " from its link.");
    }
    if (!replaced.empty()) {
        std::string list;
        for (const std::string &option : options) {
            list += (list.empty() ? "" : ",") + option;
        }
        advice.push_back(file + " links " + joined(replaced) + ": link " + joined(dropins) +
                         " in place of " + (replaced.size() == 1 ? "it" : "them") +
                         ", from a cushim that was built with -Dlibraries=" + list + ".");
    }
}

void add_on_toolkit(std::vector<std::string> &advice, const Audit &audit) {
    const auto is_replaceable = [](const Chain &chain) {
        return chain.kind == LibraryKind::toolkit && !dropin_of(chain.library()).empty();
    };
    for (const std::string &file : linkers(audit.needed, is_replaceable)) {
        add_on_toolkit_of(advice, audit, file);
    }
    add_on_other_toolkit(advice, audit);
}

std::string which_it_lacks(const std::vector<std::string> &functions) {
    return functions.empty() ? "" : ", which lacks " + functions_text(functions);
}

void add_on_delayed(std::vector<std::string> &advice, const Audit &audit) {
    const std::vector<std::string> names =
        libraries(audit.delayed, [](const Chain &) { return true; });
    if (names.empty()) {
        return;
    }
    const std::vector<std::string> interop = interop_functions(audit, [&names](const Use &use) {
        return std::find(names.begin(), names.end(), use.library) != names.end();
    });
    advice.push_back(
        joined(names) +
        ": loaded by the first call. If it is missing, that call terminates the program: "
        "check for CUDA first (cushim::try_driver()), or link cushim's "
        "drop-in" +
        which_it_lacks(interop) + ".");
}

// "-lcuda and -lcudart"
std::string options_for(const Audit &audit, const std::vector<std::string> &functions) {
    std::vector<std::string> options;
    for (const std::string &function : functions) {
        add_once(options, link_option(audit, function_kind(function)));
    }
    return joined(options);
}

// How a file that links no CUDA library can get the functions that it uses.
std::string how_to_serve(const Audit &audit, const Use &use) {
    const std::vector<std::string> interop = interop_functions(use);
    std::string text;
    if (interop.size() < use.functions.size()) {
        text += audit.is_program
                    ? " Link cushim's drop-in into it (cushim-dropin), or into the program for all "
                      "of its libraries (cushim-dropin-exported)."
                    : " Link cushim's drop-in into it (cushim-dropin), unless the program that "
                      "loads it defines them (cushim-dropin-exported).";
    }
    if (!interop.empty()) {
        text += " The drop-in lacks " + functions_text(interop) + ": link " +
                options_for(audit, interop) + " for that, after the drop-in if it is linked too.";
    }
    return text;
}

void add_on_undefined(std::vector<std::string> &advice, const Audit &audit) {
    for (const Use &use : audit.uses) {
        if (use.library.empty() && !use.is_optional && audit.not_found.empty()) {
            advice.push_back(use.file +
                             " uses CUDA functions that no file loaded with it defines." +
                             how_to_serve(audit, use));
        }
    }
}

void add_on_borrowed(std::vector<std::string> &advice, const Audit &audit) {
    for (const Use &use : audit.uses) {
        if (is_borrowed(audit, use)) {
            advice.push_back(use.file + " uses functions of " + use.library +
                             ", but finds them only because another file links it." +
                             how_to_serve(audit, use));
        }
    }
}

} // namespace

std::vector<std::string> advice_for(const Audit &audit) {
    std::vector<std::string> advice;
    add_on_links(advice, audit);
    add_on_borrowed(advice, audit);
    add_on_toolkit(advice, audit);
    add_on_delayed(advice, audit);
    add_on_undefined(advice, audit);
    if (!audit.static_runtime.empty()) {
        advice.emplace_back("A static libcudart loads the driver on its first call, so it "
                            "does not prevent the program from starting. With cushim's drop-in "
                            "(cushim-dropin) instead, the file is smaller.");
    }
    return advice;
}

} // namespace cushim_info
