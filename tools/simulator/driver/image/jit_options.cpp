#include "image/jit_options.hpp"
#include "base/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sim {
namespace {

unsigned int number(const void *value) {
    return static_cast<unsigned int>(reinterpret_cast<std::uintptr_t>(value));
}

} // namespace

JitOptions::JitOptions(unsigned int count, CUjit_option *options, void **values) {
    require(count == 0 || options != nullptr);
    // Only one option has no value.
    const bool needs_values = std::any_of(options, options + count, [](CUjit_option option) {
        return option != CU_JIT_TARGET_FROM_CUCONTEXT;
    });
    require(!needs_values || values != nullptr);
    for (unsigned int i = 0; i < count; ++i) {
        const auto option = static_cast<int>(options[i]);
        if (option < 0 || option >= static_cast<int>(CU_JIT_NUM_OPTIONS)) {
            refuse(CUDA_ERROR_INVALID_VALUE, "Unrecognized option %d (at index %u)", option, i);
        }
        if (values != nullptr) {
            read(options[i], values[i]);
        }
    }
    require(!has_target_ || threads_ == nullptr);
    for (Log *log : {&info_, &error_}) {
        if (log->buffer == nullptr || log->size == 0) {
            log->buffer = nullptr;
        } else {
            log->buffer[0] = '\0';
        }
    }
}

void JitOptions::read(CUjit_option option, void *&value) {
    switch (option) {
    case CU_JIT_INFO_LOG_BUFFER:
        info_.buffer = static_cast<char *>(value);
        break;
    case CU_JIT_ERROR_LOG_BUFFER:
        error_.buffer = static_cast<char *>(value);
        break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        info_.size = number(value);
        info_.size_value = &value;
        break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        error_.size = number(value);
        error_.size_value = &value;
        break;
    case CU_JIT_WALL_TIME:
        wall_time_ = &value;
        break;
    case CU_JIT_THREADS_PER_BLOCK:
        threads_ = &value;
        break;
    case CU_JIT_TARGET:
        has_target_ = true;
        break;
    case CU_JIT_LOG_VERBOSE:
        verbose_ = number(value) != 0;
        break;
    case CU_JIT_MAX_REGISTERS:
        require(number(value) != 0);
        max_registers_ = static_cast<int>(std::min(number(value), 255U));
        break;
    case CU_JIT_OPTIMIZATION_LEVEL:
        require(number(value) <= 4);
        break;
    case CU_JIT_FALLBACK_STRATEGY:
        require(number(value) <= CU_PREFER_BINARY);
        break;
    case CU_JIT_CACHE_MODE:
        require(number(value) <= CU_JIT_CACHE_OPTION_CA);
        break;
    default:
        break;
    }
}

void JitOptions::Log::add(const std::string &line) {
    if (buffer == nullptr) {
        return;
    }
    const std::size_t room = size - 1 - used;
    const std::string text = line + "\n";
    const std::size_t length = std::min(room, text.size());
    std::memcpy(buffer + used, text.data(), length);
    used += length;
    buffer[used] = '\0';
}

void JitOptions::Log::write_size() const {
    if (size_value != nullptr) {
        *size_value = reinterpret_cast<void *>(static_cast<std::uintptr_t>(used));
    }
}

void JitOptions::write_outputs() {
    info_.write_size();
    error_.write_size();
    if (wall_time_ != nullptr) {
        const float milliseconds = 0.25F; // nothing is compiled, so the time is constant
        std::memcpy(static_cast<void *>(wall_time_), &milliseconds, sizeof milliseconds);
    }
}

} // namespace sim
