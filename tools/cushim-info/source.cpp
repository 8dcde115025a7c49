#include "source.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace cushim_info {

namespace fs = std::filesystem;

Source::Source(const fs::path &path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
        throw Unreadable(error && fs::status_known(status) ? "no such file" : error.message());
    }
    if (!fs::is_regular_file(status)) {
        throw Unreadable(fs::is_directory(status) ? "a folder" : "not a regular file");
    }
    size_ = fs::file_size(path, error);
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (error || !*file) {
        throw Unreadable("the file cannot be opened");
    }
    stream_ = std::move(file);
}

Source Source::of_bytes(std::string bytes) {
    Source source;
    source.size_ = bytes.size();
    source.stream_ = std::make_unique<std::istringstream>(std::move(bytes), std::ios::binary);
    return source;
}

std::string Source::read(std::uint64_t at, std::uint64_t length) {
    if (at > size_ || length > size_ - at) {
        throw Unreadable("the file is truncated or damaged: its size, " + std::to_string(size_) +
                         ", is smaller than its headers describe");
    }
    bytes_read_ += length;
    std::string bytes(static_cast<std::size_t>(length), '\0');
    stream_->clear();
    stream_->seekg(static_cast<std::streamoff>(at));
    stream_->read(bytes.data(), static_cast<std::streamsize>(length));
    if (!*stream_) {
        throw Unreadable("the file cannot be read");
    }
    return bytes;
}

std::string Source::read_some(std::uint64_t at, std::uint64_t most) {
    return read(at, at < size_ ? std::min(most, size_ - at) : 0);
}

} // namespace cushim_info
