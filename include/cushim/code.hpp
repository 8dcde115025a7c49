/* Device code: the images that modules and libraries are loaded from, and the options of the JIT
 * compiler. */
#ifndef CUSHIM_CODE_HPP
#define CUSHIM_CODE_HPP

#include <cstddef>

#include <cushim/detail/friends.hpp>
#include <cushim/device.hpp>
#include <cushim/result.hpp>

namespace cushim {

/* A code image: PTX text, a cubin or a fatbin. A view: the caller's bytes are read while the image
 * is loaded, and are not needed afterwards. */
class CodeImage {
  public:
    // PTX that ends with a NUL.
    CodeImage(const char *text) noexcept : data_(text) {}

    // `size` bytes of any kind; PTX needs no NUL. An image whose own size field exceeds `size` is
    // rejected.
    CodeImage(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}

    // An image of unknown size, such as a fatbin that a compiler put into the program. CUDA reads
    // as many bytes as the image states.
    static CodeImage unsized(const void *data) noexcept { return {data, unknown}; }

    static constexpr std::size_t unknown = static_cast<std::size_t>(-1);
    const void *data() const noexcept { return data_; }
    // In bytes, or `unknown`.
    std::size_t size() const noexcept { return size_; }

  private:
    const void *data_;
    std::size_t size_ = unknown;
};

/* For the JIT compiler. Machine code is loaded unchanged. */
struct JitOptions {
    unsigned int max_registers = 0;      // per thread; 0: the compiler chooses
    unsigned int optimization_level = 4; // 0 to 4
    ComputeCapability target = {};       // 0.0: that of the device
    bool debug_info = false;             // for debuggers
    bool line_info = false;              // for profilers
    bool verbose = false;                // writes register and memory use to the info log
    // Capacity of the logs in bytes; 0: no log is requested. Longer logs are truncated.
    std::size_t info_log_size = 8192; // requested only if there is a JitLog
    std::size_t error_log_size = 8192;
};

/* The output of the JIT compiler. Empty until a load fills it, on success or failure. The error's
 * message contains the error log, too.
 *
 * Threads: as for an int. */
class JitLog {
  public:
    JitLog() noexcept = default;
    JitLog(JitLog &&other) noexcept : texts_(other.texts_), error_at_(other.error_at_) {
        other.texts_ = nullptr;
    }
    JitLog &operator=(JitLog &&other) noexcept {
        if (this != &other) {
            clear();
            texts_ = other.texts_;
            error_at_ = other.error_at_;
            other.texts_ = nullptr;
        }
        return *this;
    }
    ~JitLog() { clear(); }

    // Lines of text; never null. Valid until the log is filled again or cleared.
    const char *info() const noexcept { return texts_ != nullptr ? texts_ : ""; }
    const char *error() const noexcept { return texts_ != nullptr ? texts_ + error_at_ : ""; }

    CUSHIM_API void clear() noexcept;

  private:
    friend class detail::JitSession;

    char *texts_ = nullptr; // both logs, each with its NUL
    std::size_t error_at_ = 0;
};

} // namespace cushim

#endif
