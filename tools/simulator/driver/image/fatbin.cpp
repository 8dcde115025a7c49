// A fatbin: several cubins and PTX texts, of which the best match for the device is loaded.
#include "base/decompress.hpp"
#include "base/notes.hpp"
#include "image/image.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sim {
namespace {

constexpr std::size_t header_size = 16, entry_header = 64;
constexpr unsigned int kind_ptx = 1, kind_cubin = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;

std::uint64_t number(const std::byte *bytes, std::size_t length) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < length; ++i) {
        value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    }
    return value;
}

struct Entry {
    unsigned int kind = 0;
    int cc = 0;
    Compression compression = Compression::none;
    const std::byte *bytes = nullptr;
    std::size_t size = 0;
    std::uint64_t whole_size = 0; // before compression

    bool fits(int device) const noexcept {
        if (kind == kind_cubin) {
            return cc / 10 == device / 10 && cc <= device;
        }
        return kind == kind_ptx && cc <= device;
    }
    // Machine code before PTX, then the highest architecture.
    int rank() const noexcept { return (kind == kind_cubin ? 10000 : 0) + cc; }
};

Compression compression_of(const std::byte *header) {
    const std::uint64_t flags = number(header + 40, 8);
    if ((flags & flag_zstd) != 0) {
        return Compression::zstd;
    }
    if ((flags & flag_lz4) != 0) {
        return Compression::lz4;
    }
    return number(header + 16, 4) != 0 ? Compression::unknown : Compression::none;
}

std::vector<Entry> read_entries(const std::byte *bytes, std::size_t size) {
    std::vector<Entry> entries;
    std::size_t at = header_size;
    while (at + entry_header <= size) {
        const std::byte *header = bytes + at;
        const std::size_t length = number(header + 4, 4);
        const std::uint64_t content = number(header + 8, 8);
        if (length < entry_header || length > size - at || content > size - at - length) {
            throw ImageProblem{CUDA_ERROR_INVALID_IMAGE, "a damaged fatbin"};
        }
        Entry entry;
        entry.kind = static_cast<unsigned int>(number(header, 2));
        entry.compression = compression_of(header);
        entry.cc = static_cast<int>(number(header + 28, 4));
        entry.bytes = header + length;
        entry.size = static_cast<std::size_t>(content);
        if (entry.compression != Compression::none) {
            // The content is padded.
            entry.size = std::min(entry.size, static_cast<std::size_t>(number(header + 16, 4)));
            entry.whole_size = number(header + 56, 8);
        }
        entries.push_back(entry);
        at += length + static_cast<std::size_t>(content);
    }
    return entries;
}

Image read_content(const Entry &entry, const std::byte *bytes, std::size_t size, int cc) {
    if (entry.kind == kind_cubin) {
        return read_image(bytes, size, cc);
    }
    const auto *text = reinterpret_cast<const char *>(bytes);
    const auto *end = std::find(text, text + size, '\0');
    return read_ptx({text, static_cast<std::size_t>(end - text)});
}

// nvcc compresses PTX by default, and error logs are rarely read, so a note is added too.
[[noreturn]] void refuse_compressed(const std::string &problem) {
    const std::string text = "the images for this device in the fatbin are " + problem +
                             "; compile with nvcc --no-compress";
    if (std::find(notes().begin(), notes().end(), text) == notes().end()) {
        note(text);
    }
    throw ImageProblem{CUDA_ERROR_NO_BINARY_FOR_GPU, text};
}

} // namespace

std::size_t fatbin_size(const std::byte *bytes) noexcept {
    constexpr std::uint64_t most = std::uint64_t(1) << 32;
    const std::uint64_t content = number(bytes + 8, 8);
    return number(bytes + 6, 2) != header_size || content > most
               ? 0
               : header_size + static_cast<std::size_t>(content);
}

Image read_fatbin(const std::byte *bytes, std::size_t size, int cc) {
    if (size < header_size) {
        throw ImageProblem{CUDA_ERROR_INVALID_IMAGE, "a damaged fatbin"};
    }
    std::vector<Entry> fitting = read_entries(bytes, size);
    std::erase_if(fitting, [cc](const Entry &entry) { return !entry.fits(cc); });
    std::stable_sort(fitting.begin(), fitting.end(),
                     [](const Entry &a, const Entry &b) { return a.rank() > b.rank(); });
    Decompressed unread;
    for (const Entry &entry : fitting) {
        if (entry.compression == Compression::none) {
            return read_content(entry, entry.bytes, entry.size, cc);
        }
        Decompressed content =
            decompress(entry.compression, entry.bytes, entry.size, entry.whole_size);
        if (content.bytes != nullptr) {
            return read_content(entry, content.bytes.get(), content.size, cc);
        }
        unread = std::move(content);
    }
    if (unread.damaged) {
        throw ImageProblem{CUDA_ERROR_INVALID_IMAGE, "an image in the fatbin is " + unread.problem};
    }
    if (!fitting.empty()) {
        refuse_compressed(unread.problem);
    }
    throw ImageProblem{CUDA_ERROR_NO_BINARY_FOR_GPU, "the fatbin has no image for this device"};
}

} // namespace sim
