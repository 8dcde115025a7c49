// A code image as the driver may be given it, which reads as far as the bytes themselves say.
#pragma once

#include <cushim/code.hpp>

#include <cstdlib>

namespace cushim::detail {

class LoadableCode {
  public:
    // Refuses what says that it is longer than it is. PTX without a NUL is copied, to have one.
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
    void *copy_; // to free
};

} // namespace cushim::detail
