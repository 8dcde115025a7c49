#include "explain.hpp"

#include "candidates.hpp"
#include "platform.hpp"
#include "text.hpp"

namespace cushim {

namespace {

/* The first candidate with this outcome, or nullptr. */
const cushim_candidate *candidate_with(const cushim_report &report, cushim_outcome outcome) {
    for (size_t i = 0; i < report.candidate_count; ++i)
        if (report.candidates[i].outcome == outcome)
            return &report.candidates[i];
    return nullptr;
}

/* The first candidate that exists but cannot be used. */
const cushim_candidate *unusable_candidate(const cushim_report &report) {
    for (size_t i = 0; i < report.candidate_count; ++i)
        if (report.candidates[i].outcome != CUSHIM_OUTCOME_NOT_FOUND &&
            report.candidates[i].outcome != CUSHIM_OUTCOME_LOADED)
            return &report.candidates[i];
    return nullptr;
}

const char *what(const SearchSummary &summary) {
    return summary.library == CUSHIM_LIBRARY_DRIVER ? "CUDA driver" : "CUDA runtime";
}

const char *file_name(const SearchSummary &summary) {
    return summary.library == CUSHIM_LIBRARY_DRIVER ? platform::driver_name
                                                    : platform::runtime_name;
}

const char *hint_for(cushim_reason reason, const SearchSummary &summary) {
    const bool driver = summary.library == CUSHIM_LIBRARY_DRIVER;
    switch (reason) {
    case CUSHIM_REASON_DISABLED:
        return "unset CUSHIM_DISABLE to use CUDA";
    case CUSHIM_REASON_CHOSEN_PATH:
        return driver
                   ? "correct the path in CUSHIM_DRIVER or in the program's settings, or unset it "
                     "so that the loader searches for the driver"
                   : "correct the path in CUSHIM_RUNTIME or in the program's settings, or put the "
                     "runtime in the folder of the driver that CUSHIM_DRIVER names";
    case CUSHIM_REASON_LINK_STUB:
        if (summary.chosen)
            return "set the path in CUSHIM_DRIVER or in the program's settings to that of the "
                   "driver; the stub is for linking only";
        return "install the NVIDIA driver, or start the container with GPU access (docker run "
               "--gpus all); remove the toolkit's stubs folder from the library search path, since "
               "it is for linking only";
    case CUSHIM_REASON_UNUSABLE:
        return driver ? "install an NVIDIA driver for this system and architecture"
                      : "install the CUDA " CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) " runtime";
    case CUSHIM_REASON_NOT_FOUND:
        return driver ? "install the NVIDIA driver, or start the container with GPU access (docker "
                        "run --gpus all)"
                      : "install the CUDA " CUSHIM_TEXT(
                            CUSHIM_CUDA_MAJOR) " runtime, or set "
                                               "CUSHIM_RUNTIME to its library";
    case CUSHIM_REASON_SWITCHED_OFF:
        if (!summary.environment)
            return driver ? "set the driver's path in the program's settings, or enable a search "
                            "location in them"
                          : "set the runtime's path in the program's settings, or enable a search "
                            "location in them";
        return driver ? "set the driver's path in CUSHIM_DRIVER or in the program's settings, or "
                        "enable a search location in the settings"
                      : "set the runtime's path in CUSHIM_RUNTIME or in the program's settings, or "
                        "enable a search location in the settings";
    case CUSHIM_REASON_NONE:
        break;
    }
    return "";
}

cushim_reason reason_of(const cushim_report &report, const SearchSummary &summary) {
    if (report.state == CUSHIM_STATE_LOADED)
        return CUSHIM_REASON_NONE;
    if (summary.disabled)
        return CUSHIM_REASON_DISABLED;
    if (summary.switched_off)
        return CUSHIM_REASON_SWITCHED_OFF;
    const cushim_candidate *unusable = unusable_candidate(report);
    const bool only_stubs = unusable != nullptr && unusable->outcome == CUSHIM_OUTCOME_LINK_STUB;
    if (only_stubs)
        return CUSHIM_REASON_LINK_STUB;
    if (summary.chosen)
        return CUSHIM_REASON_CHOSEN_PATH;
    if (candidate_with(report, CUSHIM_OUTCOME_LINK_STUB) != nullptr)
        return CUSHIM_REASON_LINK_STUB;
    return unusable != nullptr ? CUSHIM_REASON_UNUSABLE : CUSHIM_REASON_NOT_FOUND;
}

char *explain_loaded(const cushim_report &report, const SearchSummary &summary) {
    const char *path = report.path != nullptr ? report.path : file_name(summary);
    const VersionDigits version(report.version);
    return join_text({what(summary), " ",
                      report.version != 0 ? version.chars : "of unknown version", ", ", path});
}

/* A sentence about a candidate that could not be used. */
char *explain_unusable(const cushim_candidate *bad, const SearchSummary &summary) {
    if (bad == nullptr) // no candidate was tried or recorded
        return join_text({"no ", what(summary), ": ", file_name(summary), " was not found"});
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
    return join_text({"no ", what(summary), ": ", file_name(summary), " was not found"});
}

} // namespace

const char *const out_of_memory = "out of memory";

void explain(cushim_report &report, const SearchSummary &summary) {
    report.reason = reason_of(report, summary);
    report.hint = hint_for(report.reason, summary);
    const char *explanation = explanation_of(report, summary);
    report.explanation = explanation != nullptr ? explanation : out_of_memory;
}

} // namespace cushim
