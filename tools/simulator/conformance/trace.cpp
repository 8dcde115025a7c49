#include "trace.hpp"

#include <cushim/detail/driver_entries.hpp>

#include <cstdio>
#include <map>
#include <pthread.h>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>

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

// Of all threads; never destroyed, since a section may end by exit().
using Reasons = std::set<std::tuple<std::string, int, std::string>>;
Reasons &reasons() {
    static Reasons &all = *new Reasons;
    return all;
}
std::mutex reasons_mutex;

#if CUDA_VERSION >= 12090
// Addresses and process numbers differ from run to run.
std::string without_addresses(const std::string &text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t digits = 0;
        if (text.compare(at, 2, "0x") == 0) {
            digits = text.find_first_not_of("0123456789abcdefABCDEF", at + 2);
            digits = (digits == text.npos ? text.size() : digits) - at;
        }
        if (digits > 10) {
            out += "0x...";
            at += digits;
        } else {
            out += text[at++];
        }
    }
    return out;
}

// What this thread's lines say since the last call: without the time and the thread, and without
// the line that repeats the status.
std::string reason_since(CUlogIterator &from) {
    char buffer[25600];
    std::size_t size = sizeof buffer;
    if (Traced<cushim::entry::cuLogsDumpToMemory>::function()(&from, buffer, &size, 0) != 0) {
        return "";
    }
    const std::string own = "][" + std::to_string(pthread_self()) + "]";
    std::istringstream lines(std::string(buffer, size));
    std::string reason;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find(own), text = line.find("] ");
        if (at != line.npos && text != line.npos && line.compare(text + 2, 10, "Returning ") != 0) {
            reason += (reason.empty() ? "" : "; ") + line.substr(text + 2);
        }
    }
    return without_addresses(reason);
}
#endif

} // namespace

void note_reason([[maybe_unused]] const char *entry_point, [[maybe_unused]] int status) {
#if CUDA_VERSION >= 12090
    if (std::string_view(entry_point).substr(0, 6) == "cuLogs") {
        return;
    }
    const std::lock_guard held(reasons_mutex);
    // By the number that the log has: a later thread may get that of one that has ended.
    static std::map<pthread_t, CUlogIterator> &positions = *new std::map<pthread_t, CUlogIterator>;
    std::string reason = reason_since(positions[pthread_self()]);
    reasons().emplace(entry_point, status, reason.empty() ? "(none)" : std::move(reason));
#endif
}

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
    for (const auto &[entry_point, status, reason] : reasons()) {
        std::printf("-- reason %s %d = %s\n", entry_point.c_str(), status, reason.c_str());
    }
    std::fflush(stdout);
}

} // namespace record::trace
