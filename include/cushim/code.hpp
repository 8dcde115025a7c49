/* Device code: the images that modules and libraries are loaded from, and the options of the JIT
 * compiler. */
#ifndef CUSHIM_CODE_HPP
#define CUSHIM_CODE_HPP

#include <cstddef>

#include <cushim/detail/code_bytes.hpp>
#include <cushim/detail/friends.hpp>
#include <cushim/device.hpp>
#include <cushim/result.hpp>

namespace cushim {

/* A code image: PTX text, a cubin or a fatbin. A view: the caller's bytes must stay valid while the
 * image is loaded, and are not needed afterwards. */
class CodeImage {
  public:
    // Null-terminated PTX.
    CodeImage(const char *text) noexcept : data_(text) {}

    // `size` bytes of any kind; PTX need not be null-terminated. An image whose own size field
    // exceeds `size` is rejected.
    CodeImage(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}

    // An image of unknown size, such as a fatbin that a compiler put into the program. CUDA reads
    // as many bytes as the image states.
    static CodeImage unsized(const void *data) noexcept { return {data, unknown}; }

    // The size() of an image that states its own size.
    static constexpr std::size_t unknown = static_cast<std::size_t>(-1);
    // The start of the image, which the caller owns.
    const void *data() const noexcept { return data_; }
    // In bytes, or `unknown`.
    std::size_t size() const noexcept { return size_; }

  private:
    const void *data_;
    std::size_t size_ = unknown;
};

/* Options of the JIT compiler, which compiles PTX. They do not affect machine code. */
struct JitOptions {
    unsigned int max_registers = 0;      // per thread; 0: the compiler chooses
    unsigned int optimization_level = 4; // 0 to 4
    ComputeCapability target = {};       // 0.0: that of the device
    bool debug_info = false;             // for debuggers
    bool line_info = false;              // for profilers
    bool verbose = false;                // writes register and memory use to the info log
    // Capacity of the info log in bytes; a longer log is truncated. 0, or a load without a JitLog:
    // no info log is requested.
    std::size_t info_log_size = 8192;
    // Capacity of the error log in bytes; a longer log is truncated. Requested even without a
    // JitLog. 0: no error log.
    std::size_t error_log_size = 8192;
};

/* The output of the JIT compiler, or of another compiler or linker. Module::load() and
 * Library::load(), CompiledCode::compile() (nvrtc.hpp) and LinkedCode::link() (nvjitlink.hpp) fill
 * it, whether they succeed or fail. The message of a failure contains the error log, too.
 *
 * It owns its text. Moved, not copied; a moved-from log is empty.
 *
 * Threads: as for an int. */
class JitLog {
  public:
    // The info log and the error log: lines of text, "" if empty; never null. Valid until the log
    // is filled again, reset or destroyed.
    const char *info() const noexcept { return info_.data(); }
    const char *error() const noexcept { return error_.data(); }

    // Frees both texts.
    void reset() noexcept { *this = JitLog(); }

  private:
    friend struct detail::CodeAccess;

    detail::CodeBytes info_, error_;
};

} // namespace cushim

#endif
