#include "jit_session.hpp"

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "jit_log.hpp"

namespace cushim::detail {
namespace {

Result<void> check(const JitOptions &options) noexcept {
    constexpr std::size_t longest = std::numeric_limits<int>::max();
    if (options.optimization_level > 4) {
        return invalid_argument("JitOptions::optimization_level %u exceeds the limit of 4",
                                options.optimization_level);
    }
    const bool is_info = options.info_log_size > longest;
    const std::size_t size = is_info ? options.info_log_size : options.error_log_size;
    if (size > longest) {
        return invalid_argument("JitOptions::%s of %zu bytes exceeds the limit of %zu bytes",
                                is_info ? "info_log_size" : "error_log_size", size, longest);
    }
    const ComputeCapability target = options.target;
    constexpr int most = (std::numeric_limits<int>::max() - 9) / 10;
    const auto check_part = [&](const char *part, int version, int limit) -> Result<void> {
        if (version >= 0 && version <= limit) {
            return {};
        }
        return version < 0
                   ? invalid_argument("JitOptions::target %d.%d: the %s version is negative",
                                      target.major_version, target.minor_version, part)
                   : invalid_argument("JitOptions::target %d.%d: the %s version exceeds %d",
                                      target.major_version, target.minor_version, part, limit);
    };
    CUSHIM_TRY_VOID(check_part("major", target.major_version, most));
    return check_part("minor", target.minor_version, 9);
}

// Copies that many characters and adds a NUL, even if more are written meanwhile.
void copy_text(char *to, const char *from, std::size_t length) noexcept {
    std::memcpy(to, from, length);
    to[length] = '\0';
}

} // namespace

void JitSession::add(CUjit_option option, std::uintptr_t value) noexcept {
    options_[count_] = option;
    values_[count_] = reinterpret_cast<void *>(value);
    ++count_;
}

void JitSession::add_text(CUjit_option buffer, CUjit_option size, char *text,
                          std::size_t bytes) noexcept {
    if (bytes != 0) {
        add(buffer, reinterpret_cast<std::uintptr_t>(text));
        add(size, bytes);
    }
}

Result<void> JitSession::prepare(const JitOptions &options, JitLog *log) noexcept {
    if (log != nullptr) {
        log->reset();
    }
    CUSHIM_TRY_VOID(check(options));
    const std::size_t info_size = log != nullptr ? options.info_log_size : 0;
    texts_ = CodeBytes(info_size + 1 + options.error_log_size);
    if (!texts_) {
        return no_host_memory();
    }
    char *const error = texts_.data() + info_size + 1;
    info_ = texts_.data();
    error_ = error;
    add_text(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, texts_.data(), info_size);
    add_text(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, error,
             options.error_log_size);
    if (options.max_registers != 0) {
        add(CU_JIT_MAX_REGISTERS, options.max_registers);
    }
    if (options.optimization_level != 4) {
        add(CU_JIT_OPTIMIZATION_LEVEL, options.optimization_level);
    }
    if (options.target != ComputeCapability{}) {
        const int target = options.target.major_version * 10 + options.target.minor_version;
        add(CU_JIT_TARGET, static_cast<std::uintptr_t>(target));
    }
    if (options.debug_info) {
        add(CU_JIT_GENERATE_DEBUG_INFO, 1);
    }
    if (options.line_info) {
        add(CU_JIT_GENERATE_LINE_INFO, 1);
    }
    if (options.verbose) {
        add(CU_JIT_LOG_VERBOSE, 1);
    }
    return {};
}

JitLog JitSession::log() const noexcept {
    return CodeAccess::log(info_, error_);
}

Result<void> JitSession::with_log(Result<void> &&called) const noexcept {
    const std::size_t length = called ? 0 : trimmed(error_).size();
    // A single line replaces CUDA's text, more lines follow it.
    const char *const prefix =
        std::memchr(error_, '\n', length) == nullptr ? "the compiler reports: " : "";
    const std::size_t before = std::strlen(prefix);
    char *const text = length != 0 ? new (std::nothrow) char[before + length + 1] : nullptr;
    if (text == nullptr) {
        return static_cast<Result<void> &&>(called);
    }
    copy_text(text, prefix, before);
    copy_text(text + before, error_, length);
    Error error = with_detail(static_cast<Error &&>(called.error()), text);
    delete[] text;
    return error;
}

} // namespace cushim::detail
