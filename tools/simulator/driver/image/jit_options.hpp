// The options of the just-in-time compiler and linker: what is checked, and the logs that they ask
// for.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstddef>
#include <string>

namespace sim {

class JitOptions {
  public:
    JitOptions() = default;
    // Refuses with INVALID_VALUE options that are unknown or contradict each other. The arrays are
    // kept: outputs go into `values`.
    JitOptions(unsigned int count, CUjit_option *options, void **values);

    bool verbose() const noexcept { return verbose_; }
    int max_registers() const noexcept { return max_registers_; } // 0: no limit
    // Adds a line to a log, as far as the client's buffer goes.
    void info(const std::string &line) { info_.add(line); }
    void error(const std::string &line) { error_.add(line); }
    // Writes what the options give back: sizes of the logs, wall time, threads.
    void write_outputs();

  private:
    struct Log {
        char *buffer = nullptr;
        std::size_t size = 0, used = 0; // bytes, the NUL among them
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
