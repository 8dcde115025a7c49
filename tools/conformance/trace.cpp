#include "trace.hpp"

#include <cstdio>

namespace record::trace {

namespace {

Row *first = nullptr;
Row **end = &first;

template <class Entry>
void add() {
    Row &row = Traced<Entry>::row;
    *end = &row;
    end = &row.next;
    Traced<Entry>::exchange(&Traced<Entry>::call);
}

void print(const Row &row) {
    std::printf("-- calls %s", row.name);
    bool any = false;
    for (unsigned int status = 0; status < Row::limit; ++status) {
        if (row.seen[status / 64] >> status % 64 & 1) {
            std::printf(" %u", status);
            any = true;
        }
    }
    std::puts(any ? "" : " called");
}

} // namespace

void install() {
#define TRACE(entry_point) add<cushim::entry::entry_point>();
#include "trace_rows.inc"
#undef TRACE
}

void print() {
    for (const Row *row = first; row; row = row->next) {
        if (row->called) {
            print(*row);
        }
    }
    std::fflush(stdout);
}

} // namespace record::trace
