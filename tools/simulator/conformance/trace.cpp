#include "trace.hpp"

#include <cstdio>

namespace record::trace {

namespace {

Row *first = nullptr;
Row **end = &first;

void add(Row &row, Zeros zeros) {
    row.zeros = zeros;
    *end = &row;
    end = &row.next;
    cushim_exchange_slot(row.slot, row.tracing);
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
#define TRACE(entry_point, zeros) add(Traced<cushim::entry::entry_point>::row, Zeros::zeros);
#include "trace_rows.inc"
#undef TRACE
}

Row *first_row() {
    return first;
}

cushim_function original(Row &row) {
    std::call_once(row.once, [&row] {
        cushim_exchange_slot(row.slot, row.first);
        row.function = row.find();
        if (row.function) {
            cushim_exchange_slot(row.slot, row.tracing);
        } else {
            row.function = row.first;
        }
    });
    return row.function;
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
