#include "gather.hpp"

#include <cstdlib>

#include "hints.hpp"
#include "surroundings.hpp"

// The further libraries that this program was built with: FURTHER(nvml).
#define FURTHER(name) extern "C" cushim_library cushim_##name##_entry_points(void);
#include "further_libraries.inc"
#undef FURTHER

namespace cushim_info {
namespace {

std::string text_or_empty(const char *text) {
    return text != nullptr ? text : "";
}

void add_entry_point(const cushim_entry_point *entry_point, void *user) {
    static_cast<Library *>(user)->entry_points.push_back(
        {text_or_empty(entry_point->name), entry_point->introduced, entry_point->status});
}

Library gather_library(cushim_library which, const char *name = "") {
    Library library;
    library.name = name;
    library.title = cushim_library_title(which);
    library.used = cushim_load(which) == CUSHIM_STATE_LOADED;
    library.version = cushim_library_version(which);
    cushim_visit_entry_points(which, add_entry_point, &library);
    for (const EntryPoint &entry : library.entry_points) {
        if (which == CUSHIM_LIBRARY_DRIVER && entry.introduced == 0) {
            library.unknown_version.push_back(entry.name);
        }
    }

    const cushim_report *report = cushim_load_report(which);
    library.loaded = report->state == CUSHIM_STATE_LOADED;
    library.reason = report->reason;
    library.explanation = text_or_empty(report->explanation);
    library.hint = text_or_empty(report->hint);
    library.path = text_or_empty(report->path);
    for (std::size_t i = 0; i < report->candidate_count; ++i) {
        const cushim_candidate &candidate = report->candidates[i];
        library.candidates.push_back(
            {text_or_empty(candidate.path), candidate.outcome, text_or_empty(candidate.detail)});
    }

    const char *const *declarations = nullptr;
    const std::size_t left_out = cushim_left_out(which, &declarations);
    for (std::size_t i = 0; i < left_out; ++i) {
        library.left_out.push_back(text_or_empty(declarations[i]));
    }
    return library;
}

} // namespace

Info gather() {
    Info info;
    info.cushim = cushim_version();
    info.headers = cushim_headers_version();
    info.driver = gather_library(CUSHIM_LIBRARY_DRIVER);
    info.runtime = gather_library(CUSHIM_LIBRARY_RUNTIME);
#define FURTHER(name) info.further.push_back(gather_library(cushim_##name##_entry_points(), #name));
#include "further_libraries.inc"
#undef FURTHER
    if (info.driver.loaded) {
        ask_devices(info);
    }
    info.surroundings = probe_surroundings([](const char *name) { return std::getenv(name); });
    info.hints = hints_for(info);
    return info;
}

} // namespace cushim_info
