// The error log: lines as the driver writes them, but of a call that failed the last one only, which says what
// it returned. What was wrong, the driver tells in others, whose words are its own.
#include "core/error_log.hpp"
#include "driver_functions.hpp"

#if CUDA_VERSION >= 12090

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <sstream>
#include <thread>

// What a CUlogsCallbackHandle stands for. One that stays to the end is no leak: it is to see that, too.
struct CUlogsCallbackEntry_st {
    CUlogsCallback callback;
    void *user;
};

namespace sim {
namespace {

constexpr std::size_t most_bytes = 25600; // documented
constexpr char truncated[] = "[CUDA][W] older messages are left out\n";

struct ErrorLog {
    std::deque<std::string> lines; // each with its newline
    std::size_t bytes = 0;
    CUlogIterator first = 0; // the number of the oldest line
    std::vector<std::unique_ptr<CUlogsCallbackEntry_st>> callbacks;

    CUlogIterator next() const noexcept { return first + static_cast<CUlogIterator>(lines.size()); }
};

ErrorLog &error_log() {
    static auto *log = new ErrorLog; // used after static destructors
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
    log.bytes += line.size();
    log.lines.push_back(std::move(line));
    while (log.bytes > most_bytes) {
        log.bytes -= log.lines.front().size();
        log.lines.pop_front();
        ++log.first;
    }
}

struct Dump {
    std::string text;
    bool complete = true;
};

// As many of the newest lines as there is room for, behind the word that there were others.
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

// Where a dump begins. One that is ahead of the log is of before a reset: nothing is there yet.
CUlogIterator begin_of(const CUlogIterator *iterator) {
    const ErrorLog &log = error_log();
    if (iterator == nullptr) {
        return 0; // from the first there was
    }
    return static_cast<int>(log.next() - *iterator) < 0 ? log.next() : *iterator;
}

void advance(CUlogIterator *iterator) {
    if (iterator != nullptr) {
        *iterator = error_log().next();
    }
}

} // namespace

void FailureNotice::give() noexcept {
    static thread_local bool telling = false;
    if (listeners_.empty() || telling) {
        return;
    }
    telling = true;
    for (const auto &[callback, user] : listeners_) {
        std::string own = text_; // a callback may write into it
        callback(user, CU_LOG_LEVEL_ERROR, own.data(), own.size());
    }
    telling = false;
}

FailureNotice log_failure(const char *entry, CUresult status) noexcept try {
    const char *name = nullptr;
    if (driver::cuGetErrorName(status, &name) != CUDA_SUCCESS) {
        name = "unknown";
    }
    std::string text =
        "Returning " + std::to_string(static_cast<int>(status)) + " (" + name + ") from " + entry;
    keep(line_of(text));
    std::vector<std::pair<CUlogsCallback, void *>> listeners;
    for (const auto &known : error_log().callbacks) {
        listeners.emplace_back(known->callback, known->user);
    }
    return {std::move(text), std::move(listeners)};
} catch (...) { // out of memory: the status says enough
    return {};
}

void restart_error_log() noexcept {
    ErrorLog &log = error_log();
    log.lines.clear();
    log.callbacks.clear();
    log.bytes = 0;
    log.first = 0;
}

} // namespace sim

namespace sim::driver {

CUresult cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                CUlogsCallbackHandle *callback_out) {
    require(callbackFunc != nullptr);
    auto &callbacks = error_log().callbacks;
    callbacks.emplace_back(new CUlogsCallbackEntry_st{callbackFunc, userData});
    if (callback_out != nullptr) {
        *callback_out = callbacks.back().get();
    }
    return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
    require(std::erase_if(error_log().callbacks,
                          [callback](const auto &known) { return known.get() == callback; }) == 1);
    return CUDA_SUCCESS;
}

CUresult cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags) {
    require(iterator_out != nullptr && flags == 0);
    *iterator_out = error_log().next();
    return CUDA_SUCCESS;
}

CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags) {
    require(pathToFile != nullptr && flags == 0);
    const std::string text = dump(begin_of(iterator), 2 * most_bytes).text;
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(pathToFile, "w"),
                                                                std::fclose);
    require(file != nullptr);
    require(std::fwrite(text.data(), 1, text.size(), file.get()) == text.size());
    advance(iterator);
    return CUDA_SUCCESS;
}

CUresult cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                            unsigned int flags) {
    require(buffer != nullptr && size != nullptr && flags == 0);
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
