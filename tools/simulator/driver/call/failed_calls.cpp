#include "call/failed_calls.hpp"
#include "base/error_texts.hpp"
#include "base/immortal.hpp"
#include "call/call_log.hpp"
#include "call/settings.hpp"

#include <algorithm>
#include <string_view>
#include <thread>
#include <vector>

namespace sim {
namespace {

constexpr std::size_t kept = 1000; // limits the memory of a program that never stops

struct FailedCall {
    const char *name;
    int status;
    std::thread::id thread;
    std::string arguments; // of the first such call
    std::uint64_t number, times;

    bool of_runtime() const { return std::string_view(name).starts_with("cuda"); }
};

std::vector<FailedCall> &failed_calls() {
    static Immortal<std::vector<FailedCall>> all;
    return *all;
}

// Statuses that are replies to a question, and no failures.
bool is_reply(int status) {
    constexpr int insufficient_driver = 35; // of the runtime
    switch (status) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_DEINITIALIZED:
    case insufficient_driver:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
    case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
    case CUDA_ERROR_NOT_SUPPORTED:
        return true;
    default:
        return false;
    }
}

// Calls that programs make to find out whether something exists.
bool is_question(std::string_view base) {
    return base.find("Get") != base.npos || base.find("Query") != base.npos ||
           base.find("CanAccess") != base.npos;
}

void forget_if(const auto &was_looked_at) {
    std::erase_if(failed_calls(), was_looked_at);
}

void add(const Row &row, std::uint64_t number, const Argument *arguments, unsigned int count,
         int status) {
    const auto thread = std::this_thread::get_id();
    const auto known =
        std::find_if(failed_calls().begin(), failed_calls().end(), [&](const auto &call) {
            return call.name == row.name && call.status == status && call.thread == thread;
        });
    if (known != failed_calls().end()) {
        ++known->times;
    } else if (failed_calls().size() < kept) {
        failed_calls().push_back({row.name, status, thread, text_of(arguments, count), number, 1});
    }
}

} // namespace

void note_status(const Row &row, std::uint64_t number, const Argument *arguments,
                 unsigned int count, int status) noexcept try {
    if (settings().report != Report::errors) {
        return;
    }
    const std::string_view base = row.base;
    const auto of_thread = [&](const FailedCall &call) {
        return call.thread == std::this_thread::get_id();
    };
    if (base == "cudaGetLastError" || base == "cudaPeekAtLastError") {
        forget_if([&](const FailedCall &call) { return call.of_runtime() && of_thread(call); });
    } else if (base.ends_with("GetErrorName") || base.ends_with("GetErrorString")) {
        forget_if([&](const FailedCall &call) {
            return call.status == static_cast<int>(arguments[0].value);
        });
    } else if (base.starts_with("cuLogs")) {
        forget_if(of_thread);
    } else if (!is_reply(status) && !is_question(base)) {
        add(row, number, arguments, count, status);
    }
} catch (...) { // out of memory: the report lacks the call
}

void note_exit_status(int status) noexcept {
    if (status != 0) {
        clear_failed_calls();
    }
}

std::size_t for_each_failed_call(const std::function<void(const std::string &)> &line) {
    for (const FailedCall &call : failed_calls()) {
        const char *const words = error_text(call.status);
        line(std::string(call.name) + "(" + call.arguments + ") returned " +
             std::to_string(call.status) + (words != nullptr ? std::string(", ") + words : "") +
             " in call " + std::to_string(call.number) +
             (call.times == 1   ? std::string()
              : call.times == 2 ? " and once more"
                                : " and " + std::to_string(call.times - 1) + " times more") +
             "; the program did not look at the status");
    }
    return failed_calls().size();
}

void clear_failed_calls() noexcept {
    failed_calls().clear();
}

} // namespace sim
