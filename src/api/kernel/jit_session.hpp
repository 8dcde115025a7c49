// A load of code: the driver's options, and the buffers for the compiler's log.
//
// The driver may keep the addresses and compile later, when a library's code is first used, so a
// session lives as long as the loaded code.
#pragma once

#include <cushim/code.hpp>

#include <cstdint>

namespace cushim::detail {

class JitSession {
  public:
    // Called once, before the load. With a log, which is cleared, the compiler's info log is
    // requested too.
    Result<void> prepare(const JitOptions &options, JitLog *log) noexcept;

    unsigned int count() const noexcept { return count_; }
    CUjit_option *options() noexcept { return options_; }
    void **values() noexcept { return values_; }

    // The messages so far; empty if out of memory.
    JitLog log() const noexcept;

    // The result of a call that loads or uses the code, with the error log in the message.
    Result<void> with_log(Result<void> &&called) const noexcept;

  private:
    void add(CUjit_option option, std::uintptr_t value) noexcept;
    void add_text(CUjit_option buffer, CUjit_option size, char *text, std::size_t bytes) noexcept;

    CUjit_option options_[10] = {};
    void *values_[10] = {};
    unsigned int count_ = 0;
    CodeBytes texts_; // both logs, each with room for an additional NUL
    const char *info_ = "";
    const char *error_ = "";
};

} // namespace cushim::detail
