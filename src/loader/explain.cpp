#include "explain.hpp"

#include "candidates.hpp"
#include "platform/platform.hpp"
#include "text.hpp"

namespace cushim {

namespace {

/* The first candidate with this outcome, or nullptr. */
const cushim_candidate *candidate_with(const cushim_report &report, cushim_outcome outcome) {
    for (size_t i = 0; i < report.candidate_count; ++i) {
        if (report.candidates[i].outcome == outcome) {
            return &report.candidates[i];
        }
    }
    return nullptr;
}

/* The first candidate that exists but cannot be used. */
const cushim_candidate *unusable_candidate(const cushim_report &report) {
    for (size_t i = 0; i < report.candidate_count; ++i) {
        if (report.candidates[i].outcome != CUSHIM_OUTCOME_NOT_FOUND &&
            report.candidates[i].outcome != CUSHIM_OUTCOME_LOADED) {
            return &report.candidates[i];
        }
    }
    return nullptr;
}

const char *what(const SearchSummary &summary) {
    return summary.library.description->title;
}

const char *file_name(const SearchSummary &summary) {
    return file_name_of(*summary.library.description);
}

/* --- hints: on the heap, except those of `special` --- */

char *choose_another_path(const SearchSummary &summary, const char *noun) {
    const char *variable = summary.library.description->variable;
    if (summary.beside) {
        return join_text({"put ", noun,
                          " in the folder of the driver that CUSHIM_DRIVER or the program's "
                          "settings name, or set its path in ",
                          variable});
    }
    return join_text({"correct the path in ", variable,
                      " or in the program's settings, or unset it so that the loader searches for ",
                      noun});
}

char *switch_on(const SearchSummary &summary, const char *noun) {
    const bool by_variable = summary.environment;
    return join_text(
        {"set ", noun, "'s path in ", by_variable ? summary.library.description->variable : "",
         by_variable ? " or in " : "", "the program's settings, or enable a search location in ",
         by_variable ? "the settings" : "them"});
}

char *install(const cushim_library_description &library, bool by_path) {
    if (library.file_names[0] == nullptr) { // whatever is installed, no name to search for
        return join_text({"set ", library.variable, " to the library's path"});
    }
    const bool has_hint = library.hint != nullptr;
    return join_text({has_hint ? library.hint : "install ", has_hint ? "" : library.title,
                      by_path ? ", or set " : "", by_path ? library.variable : "",
                      by_path ? " to its library" : ""});
}

char *hint_for(cushim_reason reason, const SearchSummary &summary) {
    const cushim_library_description &library = *summary.library.description;
    const cushim_special *special = summary.library.special;
    const char *noun = special != nullptr ? special->noun : library.title;
    switch (reason) {
    case CUSHIM_REASON_DISABLED:
        return join_text({"unset CUSHIM_DISABLE to use ", special != nullptr ? "CUDA" : noun});
    case CUSHIM_REASON_CHOSEN_PATH:
        return choose_another_path(summary, noun);
    case CUSHIM_REASON_SWITCHED_OFF:
        return switch_on(summary, noun);
    case CUSHIM_REASON_LINK_STUB:
    case CUSHIM_REASON_UNUSABLE:
        return install(library, false);
    case CUSHIM_REASON_NOT_FOUND:
        return install(library, true);
    case CUSHIM_REASON_NONE:
        break;
    }
    return nullptr;
}

cushim_reason reason_of(const cushim_report &report, const SearchSummary &summary) {
    if (report.state == CUSHIM_STATE_LOADED) {
        return CUSHIM_REASON_NONE;
    }
    if (summary.disabled) {
        return CUSHIM_REASON_DISABLED;
    }
    if (summary.switched_off) {
        return CUSHIM_REASON_SWITCHED_OFF;
    }
    const cushim_candidate *unusable = unusable_candidate(report);
    const bool only_stubs = unusable != nullptr && unusable->outcome == CUSHIM_OUTCOME_LINK_STUB;
    if (only_stubs) {
        return CUSHIM_REASON_LINK_STUB;
    }
    if (summary.chosen) {
        return CUSHIM_REASON_CHOSEN_PATH;
    }
    if (candidate_with(report, CUSHIM_OUTCOME_LINK_STUB) != nullptr) {
        return CUSHIM_REASON_LINK_STUB;
    }
    return unusable != nullptr ? CUSHIM_REASON_UNUSABLE : CUSHIM_REASON_NOT_FOUND;
}

char *explain_loaded(const cushim_report &report, const SearchSummary &summary) {
    const char *path = report.path != nullptr ? report.path : file_name(summary);
    const VersionDigits digits(report.version);
    const char *version = report.version != 0 ? digits.chars : "of unknown version";
    const bool is_asked = summary.library.description->version_kind != CUSHIM_VERSION_NONE;
    return join_text({what(summary), is_asked ? " " : "", is_asked ? version : "", ", ", path});
}

/* A sentence about a candidate that could not be used. */
char *explain_unusable(const cushim_candidate *bad, const SearchSummary &summary) {
    if (bad == nullptr) { // no candidate was tried or recorded
        const char *name = file_name(summary);
        return join_text(
            {"no ", what(summary), ": ", name[0] != '\0' ? name : "its description",
             name[0] != '\0' ? " was not found" : " has no file name for this system"});
    }
    const char *where = summary.beside ? ", in the folder of the chosen driver," : "";
    return join_text(
        {"no ", what(summary), ": ", bad->path, where, " cannot be used: ", bad->detail});
}

char *explanation_of(const cushim_report &report, const SearchSummary &summary) {
    const cushim_candidate *stub = candidate_with(report, CUSHIM_OUTCOME_LINK_STUB);
    switch (report.reason) {
    case CUSHIM_REASON_NONE:
        return explain_loaded(report, summary);
    case CUSHIM_REASON_DISABLED:
        return join_text({"CUSHIM_DISABLE is set, so no ", what(summary), " was searched for"});
    case CUSHIM_REASON_SWITCHED_OFF:
        return join_text(
            {"no ", what(summary), ": the program's settings disable every search location"});
    case CUSHIM_REASON_LINK_STUB:
        return join_text({"no ", what(summary), ": ",
                          stub != nullptr ? stub->path : file_name(summary),
                          " is the CUDA toolkit's link stub, not a driver"});
    case CUSHIM_REASON_CHOSEN_PATH:
        return explain_unusable(report.candidate_count > 0 ? &report.candidates[0] : nullptr,
                                summary);
    case CUSHIM_REASON_UNUSABLE:
        return explain_unusable(unusable_candidate(report), summary);
    case CUSHIM_REASON_NOT_FOUND:
        break;
    }
    return explain_unusable(nullptr, summary);
}

} // namespace

const char *const out_of_memory = "out of memory";

char *explain(cushim_report &report, const SearchSummary &summary) {
    report.reason = reason_of(report, summary);
    const char *explanation = explanation_of(report, summary);
    report.explanation = explanation != nullptr ? explanation : out_of_memory;
    const cushim_special *special = summary.library.special;
    const char *own = special != nullptr && special->hint != nullptr
                          ? special->hint(report.reason, summary.chosen)
                          : nullptr;
    char *hint = own == nullptr ? hint_for(report.reason, summary) : nullptr;
    report.hint = own != nullptr ? own : hint != nullptr ? hint : "";
    return hint;
}

} // namespace cushim
