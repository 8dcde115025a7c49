#include <algorithm>
#include <string_view>

#include "audit.hpp"
#include "lines.hpp"
#include "model.hpp"

namespace cushim_info {
namespace {

constexpr std::size_t most_functions = 4; // shown of a longer list

std::string verdict(const Audit &audit) {
    if (audit.needs_cuda) {
        return audit.is_program ? "needs CUDA at start-up" : "needs CUDA to be loaded";
    }
    const std::string text =
        audit.is_program ? "starts without CUDA" : "can be loaded without CUDA";
    return audit.not_found.empty() ? text : text + ", as far as its libraries were found";
}

std::string arrows(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) {
        text += (text.empty() ? "" : " -> ") + name;
    }
    return text;
}

void add_chains(std::string &out, std::string_view label, const std::vector<Chain> &chains) {
    for (const Chain &chain : chains) {
        add_line(out, label,
                 arrows(chain.names) + (chain.is_used ? "" : " (none of its functions is used)"));
        label = "";
    }
}

std::string use_text(const Use &use) {
    const std::string text = use.file + ": " + functions_text(use.functions);
    if (!use.library.empty()) {
        return text + " of " + use.library;
    }
    return text + (use.is_optional ? " (optional), defined nowhere" : ", defined nowhere");
}

void add_uses(std::string &out, const Audit &audit) {
    std::string_view label = "uses";
    for (const Use &use : audit.uses) {
        add_line(out, label, use_text(use));
        label = "";
    }
}

std::string part_text(const Part &part) {
    std::string text = part.file + ": cushim";
    if (!part.cushim.empty()) {
        text +=
            " " + part.cushim + ", built with the headers of CUDA " + version_text(part.headers);
    }
    if (part.has_dropin) {
        text += ", with its drop-in";
    }
    return part.libraries.empty() ? text : text + ", with drop-ins of " + joined(part.libraries);
}

void add_contents(std::string &out, const Audit &audit) {
    std::string_view label = "contains";
    const auto add = [&](const std::string &text) {
        add_line(out, label, text);
        label = "";
    };
    for (const Part &part : audit.parts) {
        add(part_text(part));
    }
    if (!audit.static_runtime.empty()) {
        add("seems to contain NVIDIA's static libcudart: " + audit.static_runtime);
    }
    if (!audit.own.empty()) {
        add(functions_text(audit.own) + ", without the mark of cushim's drop-in");
    }
}

void add_not_found(std::string &out, const Audit &audit) {
    std::string_view label = "not found";
    for (const NotFound &library : audit.not_found) {
        add_line(out, label,
                 library.library + ", needed by " + library.needed_by +
                     (library.problem.empty() ? "" : " (" + library.problem + ")"));
        label = "";
    }
}

void add_of_windows(std::string &out, const Audit &audit) {
    std::string names;
    for (const std::string &name : audit.of_windows) {
        names += (names.empty() ? "" : ", ") + name;
    }
    if (!names.empty()) {
        add_line(out, "of Windows", names + ": not examined");
    }
}

void add_audit(std::string &out, const Audit &audit) {
    out.append(printable(audit.path)).append(": ");
    if (!audit.problem.empty()) {
        out.append("cannot be audited: ").append(printable(audit.problem)).append("\n");
        return;
    }
    out.append(verdict(audit)).append("\n");
    add_line(out, "file", architecture_text(audit.architecture));
    add_chains(out, "needs", audit.needed);
    add_chains(out, "on first call", audit.delayed);
    add_uses(out, audit);
    add_contents(out, audit);
    add_not_found(out, audit);
    add_of_windows(out, audit);
    if (!audit.advice.empty()) {
        out += "  what to do:\n";
        for (const std::string &advice : audit.advice) {
            add_item(out, advice);
        }
    }
}

} // namespace

std::string functions_text(const std::vector<std::string> &functions) {
    std::string text;
    const std::size_t shown = std::min(functions.size(), most_functions);
    for (std::size_t i = 0; i < shown; ++i) {
        text += (i == 0 ? "" : ", ") + functions[i];
    }
    return functions.size() > shown
               ? text + " and " + std::to_string(functions.size() - shown) + " more"
               : text;
}

std::string audits_as_text(const std::vector<Audit> &audits) {
    std::string out;
    for (const Audit &audit : audits) {
        out += out.empty() ? "" : "\n";
        add_audit(out, audit);
    }
    return out;
}

} // namespace cushim_info
