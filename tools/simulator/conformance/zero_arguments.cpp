// Calls every entry point with zero arguments while device 0's primary context is current. A call
// may crash the driver, so the calls run in child processes.
#include "children.hpp"
#include "record.hpp"
#include "trace.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace record {

namespace {

using trace::Row;

constexpr int not_called = -1;

std::vector<Row *> rows_of(trace::Zeros zeros) {
    std::vector<Row *> rows;
    for (Row *row = trace::first_row(); row; row = row->next) {
        if (row->zeros == zeros) {
            rows.push_back(row);
        }
    }
    return rows;
}

// `process` is the wait status, if the call ended the process.
void tell(Row &row, int status, int process) {
    if (status == not_called) {
        note_text(row.name, ("ended the process, status " + std::to_string(process)).c_str());
        return;
    }
    row.called = true;
    if (status == trace::no_status) {
        note(row.name, "called");
    } else {
        row.note(static_cast<unsigned int>(status));
        ask(row.name, status);
    }
}

void call_all(trace::Zeros zeros) {
    const std::vector<Row *> rows = rows_of(zeros);
    const auto count = static_cast<unsigned int>(rows.size());
    int *statuses = shared<int>(count);
    std::fill_n(statuses, count, not_called);
    // A call that succeeds may leave state behind, so its process ends.
    ask_in_children(
        count, (count + 15) / 16,
        [&](unsigned int i) {
            if (start()) {
                statuses[i] = rows[i]->call_with_zeros();
            }
            return statuses[i] != 0;
        },
        [&](unsigned int i, int ended) { tell(*rows[i], statuses[i], ended); });
}

} // namespace

SECTION("driver_zeros") {
    call_all(trace::Zeros::driver);
}

SECTION("runtime_zeros") {
    call_all(trace::Zeros::runtime);
}

} // namespace record
