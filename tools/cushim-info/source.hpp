// A file whose contents nobody vouches for, read piece by piece: libraries of CUDA have hundreds of
// megabytes, of which an audit looks at a few thousand bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <stdexcept>
#include <string>

namespace cushim_info {

// The file cannot be read, is none of ours, or contradicts itself: what() is for a person.
class Unreadable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class Source {
  public:
    // Only a regular file: opening anything else could wait for ever.
    explicit Source(const std::filesystem::path &path);

    // Its contents as if they were a file's.
    static Source of_bytes(std::string bytes);

    std::uint64_t size() const { return size_; }
    std::uint64_t bytes_read() const { return bytes_read_; }

    // Exactly that many bytes. What does not lie inside the file is refused before anything is
    // allocated for it.
    std::string read(std::uint64_t at, std::uint64_t length);

    // As many of them as the file has.
    std::string read_some(std::uint64_t at, std::uint64_t most);

  private:
    Source() = default;

    std::unique_ptr<std::istream> stream_;
    std::uint64_t size_ = 0;
    std::uint64_t bytes_read_ = 0;
};

} // namespace cushim_info
