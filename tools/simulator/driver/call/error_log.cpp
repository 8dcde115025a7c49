// The error log has the driver's line format. The last line of a failed call states its status; for
// a runtime call, that of the runtime call. Lines before it state the reason: see base/refusal.hpp.
#include "call/error_log.hpp"
#include "base/immortal.hpp"
#include "call/call.hpp"
#include "call/lifecycle.hpp"
#include "driver_functions.hpp"

#if CUDA_VERSION >= 12090

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <numeric>
#include <sstream>
#include <thread>
#include <vector>

// The object behind a CUlogsCallbackHandle. A callback that stays registered until exit is not a
// leak: it exists to observe the exit too.
struct CUlogsCallbackEntry_st {
    CUlogsCallback callback;
    void *user;
    bool removed = false;
    int running = 0; // threads inside the callback
};

namespace sim {
namespace {

constexpr std::size_t most_bytes = 25600; // documented
constexpr char truncated[] = "[CUDA][W] older messages were dropped\n";

struct ErrorLog {
    std::vector<std::string> lines; // each ends with a newline
    std::size_t bytes = 0;
    CUlogIterator first = 0; // number of the oldest line
    std::vector<LogCallback> callbacks;

    CUlogIterator next() const noexcept { return first + static_cast<CUlogIterator>(lines.size()); }
};

ErrorLog &error_log() {
    static Immortal<ErrorLog> log;
    return *log;
}

// [Time][TID][Source][Severity] Message
std::string line_of(const std::string &text) {
    using namespace std::chrono;
    const auto of_day = floor<milliseconds>(system_clock::now()) - floor<days>(system_clock::now());
    const hh_mm_ss time(of_day);
    char clock[32];
    std::snprintf(clock, sizeof clock, "[%02d:%02d:%02d.%03d]",
                  static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                  static_cast<int>(time.seconds().count()),
                  static_cast<int>(time.subseconds().count()));
    std::ostringstream line;
    line << clock << '[' << std::this_thread::get_id() << "][CUDA][E] " << text << '\n';
    return line.str();
}

void keep(std::string line) {
    ErrorLog &log = error_log();
    const std::size_t size = line.size();
    log.lines.push_back(std::move(line));
    log.bytes += size;
    while (log.bytes > most_bytes) {
        log.bytes -= log.lines.front().size();
        log.lines.erase(log.lines.begin());
        ++log.first;
    }
}

struct Dump {
    std::string text;
    bool complete = true;
};

// As many of the newest lines as fit, after a line which states that older ones were dropped.
Dump dump_newest(std::size_t begin, std::size_t room) {
    const auto &lines = error_log().lines;
    std::size_t taken = lines.size(), bytes = sizeof truncated - 1;
    while (taken > begin && bytes + lines[taken - 1].size() <= room) {
        bytes += lines[--taken].size();
    }
    if (taken == lines.size()) {
        return {"", false};
    }
    return {std::accumulate(lines.begin() + static_cast<std::ptrdiff_t>(taken), lines.end(),
                            std::string(truncated)),
            false};
}

Dump dump(CUlogIterator from, std::size_t room) {
    const ErrorLog &log = error_log();
    const auto ahead = static_cast<int>(from - log.first);
    if (ahead < 0) {
        return dump_newest(0, room);
    }
    const auto begin = log.lines.begin() + ahead;
    std::string all = std::accumulate(begin, log.lines.end(), std::string());
    if (all.size() > room) {
        return dump_newest(static_cast<std::size_t>(ahead), room);
    }
    return {std::move(all), true};
}

// The first line of a dump. An iterator beyond the log dates from before a reset: its dump is
// empty.
CUlogIterator begin_of(const CUlogIterator *iterator) {
    const ErrorLog &log = error_log();
    if (iterator == nullptr) {
        return 0; // from the first line ever
    }
    return static_cast<int>(log.next() - *iterator) < 0 ? log.next() : *iterator;
}

void advance(CUlogIterator *iterator) {
    if (iterator != nullptr) {
        *iterator = error_log().next();
    }
}

// The callback that the calling thread is inside.
constinit thread_local const CUlogsCallbackEntry_st *notified = nullptr;

// False if the callback was unregistered after the call failed.
bool begin_notice(CUlogsCallbackEntry_st &entry) {
    const std::lock_guard held(Lock::mutex());
    if (entry.removed) {
        return false;
    }
    ++entry.running;
    notified = &entry;
    return true;
}

void end_notice(CUlogsCallbackEntry_st &entry) {
    const std::lock_guard held(Lock::mutex());
    notified = nullptr;
    --entry.running;
    Lock::changed().notify_all();
}

// Waits until no other thread is inside the callback. A thread ended by fork or exit never leaves.
void wait_for_others(const CUlogsCallbackEntry_st &entry) {
    const int own = notified == &entry ? 1 : 0;
    std::unique_lock lock(Lock::mutex(), std::adopt_lock);
    while (entry.running > own && !is_forked() && process_state() != CUDA_ERROR_DEINITIALIZED) {
        Lock::changed().wait(lock);
    }
    lock.release();
}

} // namespace

void FailureNotice::give() noexcept try {
    // Every call passes here, and most processes have no listener.
    if (listeners_.empty() || notified != nullptr) {
        return;
    }
    std::istringstream lines(std::move(text_));
    for (std::string line; std::getline(lines, line);) {
        for (const LogCallback &entry : listeners_) {
            std::string own = line; // a callback may write into it
            if (begin_notice(*entry)) {
                entry->callback(entry->user, CU_LOG_LEVEL_ERROR, own.data(), own.size());
                end_notice(*entry);
            }
        }
    }
} catch (const std::bad_alloc &) { // the call has already failed with a status
}

FailureNotice log_failure(const char *entry, int status, const char *name) noexcept try {
    std::string text = take_reasons() + "Returning " + std::to_string(status) + " (" +
                       (name != nullptr ? name : "unknown") + ") from " + entry;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        keep(line_of(line));
    }
    return {std::move(text), error_log().callbacks};
} catch (...) { // out of memory: the call has already failed with a status
    return {};
}

FailureNotice log_failure(const char *entry, CUresult status) noexcept {
    const char *name = nullptr;
    (void)driver::cuGetErrorName(status, &name);
    return log_failure(entry, static_cast<int>(status), name);
}

void restart_error_log() noexcept {
    ErrorLog &log = error_log();
    for (const LogCallback &known : log.callbacks) {
        known->removed = true;
    }
    log.lines.clear();
    log.callbacks.clear();
    log.bytes = 0;
    log.first = 0;
}

} // namespace sim

namespace sim::driver {

EXPORT ANY_TIME CUresult cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                                OUT CUlogsCallbackHandle *callback_out) {
    require(callbackFunc != nullptr);
    auto &callbacks = error_log().callbacks;
    callbacks.push_back(
        std::make_shared<CUlogsCallbackEntry_st>(CUlogsCallbackEntry_st{callbackFunc, userData}));
    if (callback_out != nullptr) {
        *callback_out = callbacks.back().get();
    }
    return CUDA_SUCCESS;
}

// After it returns, the callback is not called again and its resources may be destroyed, unless
// this call is made inside that callback.
EXPORT ANY_TIME CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
    auto &callbacks = error_log().callbacks;
    const auto found =
        std::find_if(callbacks.begin(), callbacks.end(),
                     [callback](const LogCallback &known) { return known.get() == callback; });
    require(found != callbacks.end());
    const LogCallback entry = *found;
    callbacks.erase(found);
    entry->removed = true;
    wait_for_others(*entry);
    return CUDA_SUCCESS;
}

// Recorded: the flags have no meaning yet, and the driver accepts any value.
EXPORT ANY_TIME CUresult cuLogsCurrent(OUT CUlogIterator *iterator_out, unsigned int) {
    require(iterator_out != nullptr);
    *iterator_out = error_log().next();
    return CUDA_SUCCESS;
}

EXPORT ANY_TIME CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile,
                                          unsigned int) {
    require(pathToFile != nullptr);
    const std::string text = dump(begin_of(iterator), 2 * most_bytes).text;
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(pathToFile, "w"),
                                                                std::fclose);
    require(file != nullptr);
    require(std::fwrite(text.data(), 1, text.size(), file.get()) == text.size());
    advance(iterator);
    return CUDA_SUCCESS;
}

EXPORT ANY_TIME CUresult cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                                            unsigned int) {
    require(buffer != nullptr && size != nullptr);
    const std::size_t room = *size;
    *size = 0;
    require(room > 0); // the text ends with a zero
    buffer[0] = '\0';
    const Dump made = dump(begin_of(iterator), room - 1);
    require(made.complete || !made.text.empty());
    std::memcpy(buffer, made.text.c_str(), made.text.size() + 1);
    *size = made.text.size();
    advance(iterator);
    return CUDA_SUCCESS;
}

} // namespace sim::driver

#endif
