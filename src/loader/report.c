/* The report as data and as text. */
#include <string.h>

#include "library.h"

static const cushim_report not_tried = {
    .state = CUSHIM_STATE_NOT_TRIED,
    .reason = CUSHIM_REASON_NONE,
    .explanation = "no search has taken place yet",
    .hint = "",
};

static const char *outcome_words(const Library *library, cushim_outcome outcome) {
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
        return cushim_kind_of(library) == KIND_FURTHER ? "wrong library" : "not CUDA";
    case CUSHIM_OUTCOME_WRONG_VERSION:
        return "wrong version";
    case CUSHIM_OUTCOME_REFUSED:
        break;
    }
    return "refused";
}

/* Appends like snprintf, piece by piece. */
typedef struct {
    char *text;
    size_t size, length;
} Writer;

static void write_text(Writer *writer, const char *piece) {
    const size_t more = strlen(piece);
    if (writer->length < writer->size) {
        const size_t room = writer->size - writer->length - 1;
        const size_t taken = more < room ? more : room;
        memcpy(writer->text + writer->length, piece, taken);
        writer->text[writer->length + taken] = '\0';
    }
    writer->length += more;
}

static const cushim_report *report_of(const Library *library) {
    const SearchRecord *record = cushim_current_record(library);
    return record != NULL ? &record->report : &not_tried;
}

static void write_report(Writer *writer, const Library *library) {
    const cushim_report *report = report_of(library);
    write_text(writer, library->description->name);
    write_text(writer, ": ");
    write_text(writer, report->explanation != NULL ? report->explanation : "");
    write_text(writer, "\n");
    for (size_t i = 0; i < report->candidate_count; ++i) {
        const cushim_candidate *candidate = &report->candidates[i];
        write_text(writer, "  ");
        write_text(writer, candidate->path);
        write_text(writer, ": ");
        write_text(writer, outcome_words(library, candidate->outcome));
        if (candidate->outcome != CUSHIM_OUTCOME_LOADED) {
            write_text(writer, ": ");
            write_text(writer, candidate->detail);
        }
        write_text(writer, "\n");
    }
    if (report->hint[0] != '\0') {
        write_text(writer, "  hint: ");
        write_text(writer, report->hint);
        write_text(writer, "\n");
    }
}

const cushim_report *cushim_load_report(cushim_library number) {
    const Library *library = cushim_library_numbered(number);
    return library != NULL ? report_of(library) : &not_tried;
}

size_t cushim_report_text(char *text, size_t size) {
    Writer writer = {.text = text, .size = size};
    if (size > 0) {
        text[0] = '\0';
    }
    for (const Library *library = &cushim_driver_library; library != NULL;
         library = CUSHIM_LOAD(&library->next)) {
        write_report(&writer, library);
    }
    return writer.length;
}
