#include "explain.h"

#include <stdlib.h>

#include "driver.h"
#include "text.h"

/* The first candidate with this outcome, or NULL. */
static const cushim_candidate *candidate_with(const cushim_report *report, cushim_outcome outcome) {
    for (size_t i = 0; i < report->candidate_count; ++i) {
        if (report->candidates[i].outcome == outcome) {
            return &report->candidates[i];
        }
    }
    return NULL;
}

/* The first candidate that exists but cannot be used. */
static const cushim_candidate *unusable_candidate(const cushim_report *report) {
    for (size_t i = 0; i < report->candidate_count; ++i) {
        if (report->candidates[i].outcome != CUSHIM_OUTCOME_NOT_FOUND &&
            report->candidates[i].outcome != CUSHIM_OUTCOME_LOADED) {
            return &report->candidates[i];
        }
    }
    return NULL;
}

static const char *what(const SearchSummary *summary) {
    return summary->library->description->title;
}

static const char *file_name(const SearchSummary *summary) {
    return cushim_file_name_of(summary->library);
}

/* In sentences that have named the library before. */
static const char *noun_of(const Library *library) {
    switch (cushim_kind_of(library)) {
    case KIND_DRIVER:
        return "the driver";
    case KIND_RUNTIME:
        return "the runtime";
    case KIND_FURTHER:
        break;
    }
    return library->description->title;
}

/* --- hints, on the heap --- */

static char *choose_another_path(const SearchSummary *summary, const char *noun) {
    const char *variable = summary->library->description->variable;
    if (summary->beside) {
        return CUSHIM_JOIN("put ", noun,
                           " in the folder of the driver that CUSHIM_DRIVER or the program's "
                           "settings name, or set its path in ",
                           variable);
    }
    return CUSHIM_JOIN(
        "correct the path in ", variable,
        " or in the program's settings, or unset it so that the loader searches for ", noun);
}

static char *switch_on(const SearchSummary *summary, const char *noun) {
    const bool by_variable = summary->environment;
    return CUSHIM_JOIN(
        "set ", noun, "'s path in ", by_variable ? summary->library->description->variable : "",
        by_variable ? " or in " : "", "the program's settings, or enable a search location in ",
        by_variable ? "the settings" : "them");
}

static char *install(const cushim_library_description *library, bool by_path) {
    if (library->file_names[0] == NULL) { // whatever is installed, no name to search for
        return CUSHIM_JOIN("set ", library->variable, " to the library's path");
    }
    const bool has_hint = library->hint != NULL;
    return CUSHIM_JOIN(has_hint ? library->hint : "install ", has_hint ? "" : library->title,
                       by_path ? ", or set " : "", by_path ? library->variable : "",
                       by_path ? " to its library" : "");
}

/* What to do about a file that exists; NULL if only another file helps. */
static const char *repair_of(FileKind problem) {
    switch (problem) {
    case CUSHIM_FILE_EMPTY:
    case CUSHIM_FILE_TRUNCATED:
        return "the file is incomplete: install its package again";
    case CUSHIM_FILE_UNREADABLE:
        return "give this user permission to read the file and to enter its folders";
    case CUSHIM_FILE_NO_DESCRIPTOR:
        return "the process has too many open files: close some, or raise the limit (ulimit -n)";
    case CUSHIM_FILE_NOT_EXECUTABLE:
        return "its file system is mounted with the option noexec: remove the option, or move the "
               "file";
    case CUSHIM_FILE_LACKS_LIBRARY:
        return "install the library that it needs and that was not found";
    case CUSHIM_FILE_OTHER_C_LIBRARY:
        return "it was built for glibc, and this process uses another C library: run a program "
               "that is linked to glibc";
    default:
        return NULL;
    }
}

static char *hint_for(cushim_reason reason, const SearchSummary *summary) {
    const cushim_library_description *library = summary->library->description;
    const bool further = cushim_kind_of(summary->library) == KIND_FURTHER;
    const char *noun = noun_of(summary->library);
    switch (reason) {
    case CUSHIM_REASON_DISABLED:
        return CUSHIM_JOIN("unset CUSHIM_DISABLE to use ", further ? noun : "CUDA");
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
    return cushim_copy_text("");
}

static cushim_reason reason_of(const cushim_report *report, const SearchSummary *summary) {
    if (report->state == CUSHIM_STATE_LOADED) {
        return CUSHIM_REASON_NONE;
    }
    if (summary->disabled) {
        return CUSHIM_REASON_DISABLED;
    }
    if (summary->switched_off) {
        return CUSHIM_REASON_SWITCHED_OFF;
    }
    const cushim_candidate *unusable = unusable_candidate(report);
    const bool only_stubs = unusable != NULL && unusable->outcome == CUSHIM_OUTCOME_LINK_STUB;
    if (only_stubs) {
        return CUSHIM_REASON_LINK_STUB;
    }
    if (summary->chosen) {
        return CUSHIM_REASON_CHOSEN_PATH;
    }
    if (candidate_with(report, CUSHIM_OUTCOME_LINK_STUB) != NULL) {
        return CUSHIM_REASON_LINK_STUB;
    }
    return unusable != NULL ? CUSHIM_REASON_UNUSABLE : CUSHIM_REASON_NOT_FOUND;
}

static char *explain_loaded(const cushim_report *report, const SearchSummary *summary) {
    const char *path = report->path != NULL ? report->path : file_name(summary);
    const VersionDigits digits = cushim_version_digits(report->version);
    const char *version = report->version != 0 ? digits.chars : "of unknown version";
    const bool is_asked = summary->library->description->version_kind != CUSHIM_VERSION_NONE;
    return CUSHIM_JOIN(what(summary), is_asked ? " " : "", is_asked ? version : "", ", ", path);
}

/* A sentence about a candidate that could not be used. */
static char *explain_unusable(const cushim_candidate *bad, const SearchSummary *summary) {
    if (bad == NULL) { // no candidate was tried or recorded
        const char *name = file_name(summary);
        return CUSHIM_JOIN("no ", what(summary), ": ", name[0] != '\0' ? name : "its description",
                           name[0] != '\0' ? " was not found"
                                           : " has no file name for this system");
    }
    const char *where = summary->beside ? ", in the folder of the chosen driver," : "";
    return CUSHIM_JOIN("no ", what(summary), ": ", bad->path, where,
                       " cannot be used: ", bad->detail);
}

static char *explanation_of(const cushim_report *report, const SearchSummary *summary) {
    const cushim_candidate *stub = candidate_with(report, CUSHIM_OUTCOME_LINK_STUB);
    switch (report->reason) {
    case CUSHIM_REASON_NONE:
        return explain_loaded(report, summary);
    case CUSHIM_REASON_DISABLED:
        return CUSHIM_JOIN("CUSHIM_DISABLE is set, so no ", what(summary), " was searched for");
    case CUSHIM_REASON_SWITCHED_OFF:
        return CUSHIM_JOIN("no ", what(summary),
                           ": the program's settings disable every search location");
    case CUSHIM_REASON_LINK_STUB:
        return CUSHIM_JOIN("no ", what(summary), ": ",
                           stub != NULL ? stub->path : file_name(summary),
                           " is the CUDA toolkit's link stub, not a driver");
    case CUSHIM_REASON_CHOSEN_PATH:
        return explain_unusable(report->candidate_count > 0 ? &report->candidates[0] : NULL,
                                summary);
    case CUSHIM_REASON_UNUSABLE:
        return explain_unusable(unusable_candidate(report), summary);
    case CUSHIM_REASON_NOT_FOUND:
        break;
    }
    return explain_unusable(NULL, summary);
}

static char *hint_of(const cushim_report *report, const SearchSummary *summary) {
    const cushim_reason reason = report->reason;
    const char *repair = repair_of(summary->problem);
    if (repair != NULL && reason == CUSHIM_REASON_UNUSABLE) {
        return cushim_copy_text(repair);
    }
    if (repair != NULL && reason == CUSHIM_REASON_CHOSEN_PATH) {
        char *other = choose_another_path(summary, noun_of(summary->library));
        char *both = other != NULL ? CUSHIM_JOIN(repair, "; or ", other) : NULL;
        free(other);
        return both;
    }
    const bool is_driver = cushim_kind_of(summary->library) == KIND_DRIVER;
    const char *own = is_driver ? cushim_driver_hint(reason, summary->chosen) : NULL;
    return own != NULL ? cushim_copy_text(own) : hint_for(reason, summary);
}

void cushim_explain(cushim_report *report, const SearchSummary *summary) {
    report->reason = reason_of(report, summary);
    report->explanation = explanation_of(report, summary);
    report->hint = hint_of(report, summary);
}
