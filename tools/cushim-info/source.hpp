// An untrusted file, read piece by piece: CUDA libraries have hundreds of megabytes, of which an
// audit needs a few thousand bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <stdexcept>
#include <string>

namespace cushim_info {

// The file cannot be read, has another format, or is contradictory; what() is a message for the
// user.
class Unreadable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class Source {
  public:
    // Accepts only regular files: opening others could block.
    explicit Source(const std::filesystem::path &path);

    // Presents bytes as a file.
    static Source of_bytes(std::string bytes);

    std::uint64_t size() const { return size_; }
    std::uint64_t bytes_read() const { return bytes_read_; }

    // Reads exactly that many bytes. Checks that they are inside the file before it allocates
    // memory.
    std::string read(std::uint64_t at, std::uint64_t length);

    // Reads up to `most` bytes, as many as the file has.
    std::string read_some(std::uint64_t at, std::uint64_t most);

  private:
    Source() = default;

    std::unique_ptr<std::istream> stream_;
    std::uint64_t size_ = 0;
    std::uint64_t bytes_read_ = 0;
};

} // namespace cushim_info
