// Lines of the log, as driver 580 writes them:
//
//     [21:29:26.095][139982027740736][CUDA][E] Requested 0 byte allocation
//     [21:29:26.095][139982027740736][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from
//     cuMemAlloc_v2
//
// The second number is that of the thread. A failed driver call ends with a line "Returning"; the
// runtime library's own reasons have none.
#include "driver_log.hpp"

#include <cushim/loader.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "call.hpp"
#include "platform/platform.hpp"

namespace cushim {
namespace detail {
namespace {

#if CUDA_VERSION >= 12090

constexpr std::string_view last_line = "Returning ";

// The lines of the calling thread's last failure.
struct Failure {
    static constexpr unsigned int limit = 8;
    std::string_view reasons[limit];
    unsigned int count = 0;
    std::string_view returning; // empty if there is none

    void add(std::string_view text) noexcept {
        if (!returning.empty()) {
            *this = {}; // it was about the call before
        }
        if (text.starts_with(last_line)) {
            returning = text;
        } else if (count < limit) {
            reasons[count++] = text;
        }
    }
};

class Log {
  public:
    // Reads lines that were written after the first `begin`, but not many.
    explicit Log(CUlogIterator begin) noexcept {
        if (cushim_load_report(CUSHIM_LIBRARY_DRIVER)->state != CUSHIM_STATE_LOADED ||
            status_of<entry::cuLogsCurrent>(&end_, 0) != CUDA_SUCCESS) {
            return;
        }
        constexpr CUlogIterator most = 24; // of all threads
        if (begin > end_ || end_ - begin > most) {
            begin = end_ > most ? end_ - most : 0;
        }
        std::size_t size = sizeof buffer_ - 1;
        if (status_of<entry::cuLogsDumpToMemory>(&begin, buffer_, &size, 0) == CUDA_SUCCESS) {
            size = std::min(size, sizeof buffer_ - 1);
            buffer_[size] = '\0';
            parse({buffer_, size});
        }
    }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;

    CUlogIterator end() const noexcept { return end_; }
    const Failure &failure() const noexcept { return failure_; }

  private:
    void parse(std::string_view lines) noexcept {
        char own[32];
        std::snprintf(own, sizeof own, "][%llu]", thread_number());
        while (!lines.empty()) {
            const std::string_view line = lines.substr(0, lines.find('\n'));
            lines.remove_prefix(std::min(line.size() + 1, lines.size()));
            const std::size_t text = line.find("] ");
            if (text != line.npos && line.find(own) < text) {
                failure_.add(line.substr(text + 2));
            }
        }
    }

    CUlogIterator end_ = 0;
    Failure failure_;
    char buffer_[4096];
};

// "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc_v2". A runtime function returns the
// status of the driver call that failed; its own reasons come without this line.
bool is_about(std::string_view returning, Api api, int status, std::string_view entry_point) {
    if (returning.empty()) {
        return api == Api::runtime;
    }
    // The text after it is the name in parentheses.
    const int logged = std::atoi(returning.data() + last_line.size());
    const std::string_view name = returning.substr(returning.rfind(' ') + 1);
    const bool is_same = name.starts_with(entry_point) || entry_point.starts_with(name); // _v2
    return logged == status && (api == Api::runtime || is_same);
}

void append(DriverLog &log, std::size_t &length, std::string_view text) noexcept {
    const std::size_t size = std::min(text.size(), sizeof log.characters - 1 - length);
    length += text.copy(log.characters + length, size);
    log.characters[length] = '\0';
}

DriverLog joined(const Failure &failure, std::string_view separator) noexcept {
    DriverLog log{};
    std::size_t length = 0;
    for (unsigned int i = 0; i < failure.count; ++i) {
        append(log, length, i == 0 ? "" : separator);
        append(log, length, failure.reasons[i]);
    }
    return log;
}

#endif

} // namespace

DriverLog reasons_for([[maybe_unused]] Api api, [[maybe_unused]] int status,
                      [[maybe_unused]] const char *entry_point) noexcept {
#if CUDA_VERSION >= 12090
    static constinit thread_local CUlogIterator used = 0; // lines of earlier failures
    const Log log(used);
    used = log.end();
    if (is_about(log.failure().returning, api, status, entry_point)) {
        return joined(log.failure(), "; ");
    }
#endif
    return {};
}

} // namespace detail

using namespace detail;

DriverLog last_driver_log() noexcept {
#if CUDA_VERSION >= 12090
    const Log log(0);
    DriverLog text = joined(log.failure(), "\n");
    std::size_t length = std::strlen(text.characters);
    append(text, length, length == 0 || log.failure().returning.empty() ? "" : "\n");
    append(text, length, log.failure().returning);
    return text;
#else
    return {};
#endif
}

} // namespace cushim
