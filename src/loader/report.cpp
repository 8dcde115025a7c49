/* The report as data and as text. */
#include <stdio.h>
#include <string.h>

#include "loaded_library.hpp"

namespace cushim {

namespace {

constexpr cushim_report not_tried = {CUSHIM_STATE_NOT_TRIED,
                                     CUSHIM_REASON_NONE,
                                     nullptr,
                                     0,
                                     "no search has taken place yet",
                                     "",
                                     0,
                                     nullptr};

const char *outcome_words(const Library &library, cushim_outcome outcome) {
    switch (outcome) {
    case CUSHIM_OUTCOME_LOADED:
        return "loaded";
    case CUSHIM_OUTCOME_NOT_FOUND:
        return "not found";
    case CUSHIM_OUTCOME_NOT_A_LIBRARY:
        return "not a library";
    case CUSHIM_OUTCOME_TRUNCATED:
        return "truncated";
    case CUSHIM_OUTCOME_WRONG_ARCHITECTURE:
        return "wrong architecture";
    case CUSHIM_OUTCOME_LINK_STUB:
        return "link stub";
    case CUSHIM_OUTCOME_NOT_CUDA:
        return library.special != nullptr ? "not CUDA" : "wrong library";
    case CUSHIM_OUTCOME_WRONG_VERSION:
        return "wrong version";
    case CUSHIM_OUTCOME_REFUSED:
        break;
    }
    return "refused";
}

/* Appends like snprintf, piece by piece. */
struct Writer {
    char *text;
    size_t size, length;

    void add(const char *piece) {
        const size_t more = strlen(piece);
        if (length < size) {
            const size_t room = size - length - 1;
            const size_t taken = more < room ? more : room;
            memcpy(text + length, piece, taken);
            text[length + taken] = '\0';
        }
        length += more;
    }
};

const cushim_report &report_of(const Library &library) {
    const LoadedLibrary *record = current_record(library);
    return record != nullptr ? record->report : not_tried;
}

void write_report(Writer &writer, const Library &library) {
    const cushim_report &report = report_of(library);
    writer.add(library.description->name);
    writer.add(": ");
    writer.add(report.explanation != nullptr ? report.explanation : "");
    writer.add("\n");
    for (size_t i = 0; i < report.candidate_count; ++i) {
        const cushim_candidate &candidate = report.candidates[i];
        writer.add("  ");
        writer.add(candidate.path);
        writer.add(": ");
        writer.add(outcome_words(library, candidate.outcome));
        if (candidate.outcome != CUSHIM_OUTCOME_LOADED) {
            writer.add(": ");
            writer.add(candidate.detail);
        }
        writer.add("\n");
    }
    if (report.hint[0] != '\0') {
        writer.add("  hint: ");
        writer.add(report.hint);
        writer.add("\n");
    }
}

} // namespace

} // namespace cushim

using namespace cushim;

extern "C" const cushim_report *cushim_load_report(cushim_library number) noexcept {
    const Library *library = library_numbered(number);
    return library != nullptr ? &report_of(*library) : &not_tried;
}

extern "C" size_t cushim_report_text(char *text, size_t size) noexcept {
    Writer writer = {text, size, 0};
    if (size > 0) {
        text[0] = '\0';
    }
    for (const Library *library = &driver_library; library != nullptr;
         library = atomics::load(&library->next)) {
        write_report(writer, *library);
    }
    return writer.length;
}
