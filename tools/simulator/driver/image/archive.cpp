// A library of objects: an archive in ar's format, on Windows too. The definitions of its members
// are not read: device runtime functions compute nothing here, and nvcc compresses the contents of
// other libraries.
#include "image/image.hpp"

#include <charconv>

namespace sim {
namespace {

constexpr std::string_view archive_magic = "!<arch>\n";
constexpr std::size_t header_size = 60, size_at = 48, size_digits = 10;
constexpr std::string_view header_end = "`\n";

[[noreturn]] void damaged() {
    throw ImageProblem{CUDA_ERROR_INVALID_IMAGE, "a damaged library"};
}

// The number of bytes after the member's header.
std::size_t size_of_member(std::string_view header) {
    if (header.size() < header_size || header.substr(header_size - 2, 2) != header_end) {
        damaged();
    }
    const std::string_view digits = header.substr(size_at, size_digits);
    std::size_t size = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), size, 10);
    if (error != std::errc() || (end != digits.data() + digits.size() && *end != ' ')) {
        damaged();
    }
    return size;
}

} // namespace

bool is_archive(std::string_view bytes) noexcept {
    return bytes.starts_with(archive_magic);
}

void check_archive(std::string_view bytes) {
    bytes.remove_prefix(archive_magic.size());
    while (!bytes.empty()) {
        const std::size_t size = size_of_member(bytes);
        bytes.remove_prefix(header_size);
        if (size > bytes.size()) {
            damaged();
        }
        bytes.remove_prefix(size);
        if (size % 2 != 0 && !bytes.empty()) { // members begin at even offsets
            bytes.remove_prefix(1);
        }
    }
}

} // namespace sim
