/* Bytes in host memory: logs, and code that a compiler or linker returned. */
#ifndef CUSHIM_DETAIL_CODE_BYTES_HPP
#define CUSHIM_DETAIL_CODE_BYTES_HPP

#include <cstddef>
#include <new>

#include <cushim/detail/cpp20.hpp>

namespace cushim::detail {

// Owns bytes, followed by a NUL. Moved, not copied; a moved-from object is empty.
class CodeBytes {
  public:
    CodeBytes() noexcept = default;
    // `size` zeros; empty if out of memory.
    CUSHIM_API explicit CodeBytes(std::size_t size) noexcept;
    CodeBytes(CodeBytes &&other) noexcept : data_(other.data_), size_(other.size_) {
        other.data_ = nullptr;
        other.size_ = 0;
    }
    CodeBytes &operator=(CodeBytes &&other) noexcept {
        if (this != &other) {
            this->~CodeBytes();
            ::new (static_cast<void *>(this)) CodeBytes(static_cast<CodeBytes &&>(other));
        }
        return *this;
    }
    ~CodeBytes() {
        if (data_ != nullptr) {
            release(data_);
        }
    }

    explicit operator bool() const noexcept { return data_ != nullptr; }
    char *data() noexcept { return data_; }
    // Never null.
    const char *data() const noexcept { return data_ != nullptr ? data_ : ""; }
    std::size_t size() const noexcept { return size_; }

  private:
    CUSHIM_API static void release(char *data) noexcept;

    char *data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace cushim::detail

#endif
