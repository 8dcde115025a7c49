#include "bytes.hpp"

#include <utility>

#include "source.hpp"

namespace cushim_info {

Bytes::Bytes(std::string bytes, ByteOrder order) : bytes_(std::move(bytes)), order_(order) {}

std::uint64_t Bytes::number(std::uint64_t at, unsigned int width) const {
    check(at, width);
    std::uint64_t value = 0;
    for (unsigned int i = 0; i < width; ++i) {
        const std::uint64_t next = order_ == ByteOrder::big ? at + i : at + width - 1 - i;
        value = value << 8 | static_cast<unsigned char>(bytes_[static_cast<std::size_t>(next)]);
    }
    return value;
}

std::uint16_t Bytes::u16(std::uint64_t at) const {
    return static_cast<std::uint16_t>(number(at, 2));
}

std::uint32_t Bytes::u32(std::uint64_t at) const {
    return static_cast<std::uint32_t>(number(at, 4));
}

std::uint64_t Bytes::u64(std::uint64_t at) const {
    return number(at, 8);
}

std::string Bytes::text(std::uint64_t at, std::size_t most) const {
    check(at, 0);
    const std::string_view rest = std::string_view(bytes_).substr(static_cast<std::size_t>(at));
    const std::size_t length = rest.substr(0, most + 1).find('\0');
    if (length == std::string_view::npos) {
        throw Unreadable("the file is damaged: a name in it is not terminated");
    }
    return std::string(rest.substr(0, length));
}

std::string Bytes::part(std::uint64_t at, std::uint64_t length) const {
    check(at, length);
    return bytes_.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(length));
}

bool Bytes::starts_with(std::uint64_t at, std::string_view text) const {
    return at <= size() &&
           std::string_view(bytes_).substr(static_cast<std::size_t>(at)).starts_with(text);
}

void Bytes::check(std::uint64_t at, std::uint64_t length) const {
    if (at > size() || length > size() - at) {
        throw Unreadable("the file is damaged: its tables point outside themselves");
    }
}

} // namespace cushim_info
