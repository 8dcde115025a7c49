/* Code that a compiler or linker returned. */
#ifndef CUSHIM_DETAIL_CODE_BYTES_HPP
#define CUSHIM_DETAIL_CODE_BYTES_HPP

#include <cstddef>

#include <cushim/detail/config.h>

namespace cushim::detail {

// Owns bytes in host memory, followed by a NUL. Moved, not copied; a moved-from object is empty.
class CodeBytes {
  public:
    CodeBytes() noexcept = default;
    // That many zeros; empty if out of memory.
    CUSHIM_API explicit CodeBytes(std::size_t size) noexcept;
    CodeBytes(CodeBytes &&other) noexcept : data_(other.data_), size_(other.size_) {
        other.forget();
    }
    CodeBytes &operator=(CodeBytes &&other) noexcept {
        if (this != &other) {
            clear();
            data_ = other.data_;
            size_ = other.size_;
            other.forget();
        }
        return *this;
    }
    ~CodeBytes() { clear(); }

    explicit operator bool() const noexcept { return data_ != nullptr; }
    char *data() noexcept { return data_; }
    // Never null.
    const char *data() const noexcept { return data_ != nullptr ? data_ : ""; }
    std::size_t size() const noexcept { return size_; }

  private:
    void clear() noexcept {
        if (data_ != nullptr) {
            free(data_);
        }
    }
    void forget() noexcept {
        data_ = nullptr;
        size_ = 0;
    }
    CUSHIM_API static void free(char *data) noexcept;

    char *data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace cushim::detail

#endif
