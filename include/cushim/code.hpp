/* Code for devices: what modules and libraries are loaded from, and how PTX among it is compiled. */
#ifndef CUSHIM_CODE_HPP
#define CUSHIM_CODE_HPP

#include <cstddef>

#include <cushim/device.hpp>
#include <cushim/result.hpp>

namespace cushim {
namespace detail {
class JitSession;
} // namespace detail

/* An image: PTX text, a cubin or a fatbin. A view: the bytes are the caller's, are read while the
 * image is loaded, and may go afterwards. */
class CodeImage {
  public:
    // PTX that ends with a NUL.
    CodeImage(const char *text) noexcept : data_(text) {}

    // So many bytes of any kind; PTX needs no NUL at its end. Those that tell their own size, and tell
    // more than there is, are refused.
    CodeImage(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}

    // What only itself tells the size of, such as a fatbin that a compiler put into the program. CUDA
    // reads as far as it says.
    static CodeImage unsized(const void *data) noexcept { return {data, unknown}; }

    static constexpr std::size_t unknown = static_cast<std::size_t>(-1);
    const void *data() const noexcept { return data_; }
    // In bytes, or `unknown`.
    std::size_t size() const noexcept { return size_; }

  private:
    const void *data_;
    std::size_t size_ = unknown;
};

/* For the just-in-time compiler: what is machine code already is loaded as it is. */
struct JitOptions {
    unsigned int max_registers = 0;      // of a thread; 0: as many as the compiler finds best
    unsigned int optimization_level = 4; // 0 to 4
    ComputeCapability target = {};       // 0.0: that of the device
    bool debug_info = false;             // for debuggers
    bool line_info = false;              // for profilers
    bool verbose = false;                // tells of registers and memory in the info log
    // Room for what the compiler says, in bytes; 0: it is not asked. What is longer is cut.
    std::size_t info_log_size = 8192; // asked only where there is a JitLog to put it in
    std::size_t error_log_size = 8192;
};

/* What the compiler said. Empty until a load puts something in, on success and on failure. The error
 * log is part of the message of the error, too.
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

    // Lines of text; never null. Valid until something else is put in.
    const char *info() const noexcept { return texts_ != nullptr ? texts_ : ""; }
    const char *error() const noexcept { return texts_ != nullptr ? texts_ + error_at_ : ""; }

    CUSHIM_API void clear() noexcept;

  private:
    friend class detail::JitSession;

    char *texts_ = nullptr; // both, each with its NUL
    std::size_t error_at_ = 0;
};

} // namespace cushim

#endif
