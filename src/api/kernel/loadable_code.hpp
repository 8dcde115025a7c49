// A code image in a form that the driver can read safely, since it derives the size from the image.
#pragma once

#include <cushim/code.hpp>

#include <cstdlib>

namespace cushim::detail {

// The size of an image in bytes: the image's own if its CodeImage does not know it, for PTX up to
// its NUL. Fails as LoadableCode::of() does.
Result<std::size_t> size_of(const CodeImage &image) noexcept;

class LoadableCode {
  public:
    // Fails if the image is shorter than its header states. PTX without a NUL is copied to append
    // one.
    static Result<LoadableCode> of(const CodeImage &image) noexcept;
    static Result<LoadableCode> read(const char *path) noexcept;

    LoadableCode(LoadableCode &&other) noexcept : data_(other.data_), copy_(other.copy_) {
        other.copy_ = nullptr;
    }
    LoadableCode &operator=(LoadableCode &&) = delete;
    ~LoadableCode() { std::free(copy_); }

    const void *data() const noexcept { return data_; }

  private:
    explicit LoadableCode(const void *data, void *copy = nullptr) noexcept
        : data_(data), copy_(copy) {}

    const void *data_;
    void *copy_; // owned; freed by the destructor
};

} // namespace cushim::detail
