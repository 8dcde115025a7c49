#include "explain.hpp"

#include <stdio.h>
#include <string.h>

#include "candidates.hpp"
#include "platform.hpp"

namespace cushim {

namespace {

/* The first candidate with this outcome, nullptr if there is none. */
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
        return driver ? "correct the path in CUSHIM_DRIVER or in the program's settings, or unset it "
                        "to let the loader search"
                      : "correct the path in CUSHIM_RUNTIME or in the program's settings, or put the "
                        "runtime beside the driver that CUSHIM_DRIVER names";
    case CUSHIM_REASON_LINK_STUB:
        return "install the NVIDIA driver, or start the container with its GPUs; and take the "
               "toolkit's stubs folder off the library search path, it is for linking only";
    case CUSHIM_REASON_UNUSABLE:
        return driver ? "install an NVIDIA driver for this system and architecture"
                      : "install the CUDA " CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) " runtime";
    case CUSHIM_REASON_NOT_FOUND:
        return driver ? "install the NVIDIA driver, or start the container with its GPUs"
                      : "install the CUDA " CUSHIM_TEXT(CUSHIM_CUDA_MAJOR) " runtime, or name its "
                        "library in CUSHIM_RUNTIME";
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

} // namespace

const char *const out_of_memory = "out of memory";

void explain(cushim_report &report, const SearchSummary &summary) {
    report.reason = reason_of(report, summary);
    report.hint = hint_for(report.reason, summary);
    char text[2048] = "";
    const cushim_candidate *bad = unusable_candidate(report);
    switch (report.reason) {
    case CUSHIM_REASON_NONE:
        if (report.version != 0)
            snprintf(text, sizeof text, "%s %d.%d, %s", what(summary), report.version / 1000,
                     report.version % 1000 / 10, report.path != nullptr ? report.path : "");
        else
            snprintf(text, sizeof text, "%s of unknown version, %s", what(summary),
                     report.path != nullptr ? report.path : "");
        break;
    case CUSHIM_REASON_DISABLED:
        snprintf(text, sizeof text, "CUSHIM_DISABLE is set: no %s was searched for", what(summary));
        break;
    case CUSHIM_REASON_LINK_STUB:
        bad = candidate_with(report, CUSHIM_OUTCOME_LINK_STUB);
        snprintf(text, sizeof text, "no %s: %s is the CUDA toolkit's link stub, not a driver",
                 what(summary), bad != nullptr ? bad->path : file_name(summary));
        break;
    case CUSHIM_REASON_CHOSEN_PATH:
        bad = report.candidate_count > 0 ? &report.candidates[report.candidate_count - 1] : nullptr;
        snprintf(text, sizeof text, "no %s: %s%s cannot be used: %s", what(summary),
                 bad != nullptr ? bad->path : "the chosen path",
                 summary.beside ? ", beside the driver that was chosen by path," : "",
                 bad != nullptr ? bad->detail : "out of memory");
        break;
    case CUSHIM_REASON_UNUSABLE:
        snprintf(text, sizeof text, "no %s: %s cannot be used: %s", what(summary), bad->path,
                 bad->detail);
        break;
    case CUSHIM_REASON_NOT_FOUND:
        snprintf(text, sizeof text, "no %s: %s was not found", what(summary), file_name(summary));
        break;
    }
    const char *own = copy_text(text);
    report.explanation = own != nullptr ? own : out_of_memory;
}

} // namespace cushim
