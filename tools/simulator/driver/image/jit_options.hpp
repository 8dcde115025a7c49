// Options of the just-in-time compiler and linker: checks, and the requested logs.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstddef>
#include <string>

namespace sim {

class JitOptions {
  public:
    JitOptions() = default;
    // Fails with INVALID_VALUE for options that are unknown or contradict each other. Keeps the
    // arrays: outputs are written to `values`.
    JitOptions(unsigned int count, CUjit_option *options, void **values);

    bool verbose() const noexcept { return verbose_; }
    int max_registers() const noexcept { return max_registers_; } // 0: no limit
    // Adds a line to a log, truncated to the client's buffer.
    void info(const std::string &line) { info_.add(line); }
    void error(const std::string &line) { error_.add(line); }
    // Writes the output values: log sizes, wall time, threads.
    void write_outputs();

  private:
    struct Log {
        char *buffer = nullptr;
        std::size_t size = 0, used = 0; // bytes, including the NUL
        void **size_value = nullptr;
        void add(const std::string &line);
        void write_size() const;
    };
    void read(CUjit_option option, void *&value);

    Log info_, error_;
    bool verbose_ = false;
    int max_registers_ = 0;
    void **wall_time_ = nullptr, **threads_ = nullptr;
    bool has_target_ = false;
};

} // namespace sim
