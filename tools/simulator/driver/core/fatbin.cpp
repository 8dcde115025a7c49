// A fatbin: several cubins and PTX texts, of which the best for the device is taken.
#include "context.hpp"
#include "image.hpp"
#include "module.hpp"
#include "notes.hpp"

#include <algorithm>
#include <cstdint>

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
    bool compressed = false;
    const std::byte *bytes = nullptr;
    std::size_t size = 0;

    bool fits(int device) const noexcept {
        if (kind == kind_cubin) {
            return cc / 10 == device / 10 && cc <= device;
        }
        return kind == kind_ptx && cc <= device;
    }
    // Machine code before PTX, then the newest.
    int rank() const noexcept { return (kind == kind_cubin ? 10000 : 0) + cc; }
};

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
        entry.compressed =
            number(header + 16, 4) != 0 || (number(header + 40, 8) & (flag_lz4 | flag_zstd)) != 0;
        entry.cc = static_cast<int>(number(header + 28, 4));
        entry.bytes = header + length;
        entry.size = static_cast<std::size_t>(content);
        entries.push_back(entry);
        at += length + static_cast<std::size_t>(content);
    }
    return entries;
}

// nvcc compresses PTX unless it is told not to, and mostly nobody reads the text of the refusal.
[[noreturn]] void refuse_all(const std::vector<Entry> &entries, int device) {
    const char *text = "no image in the fatbin is for this device";
    if (std::any_of(entries.begin(), entries.end(),
                    [device](const Entry &entry) { return entry.fits(device); })) {
        text = "the images in the fatbin that are for this device are compressed, which is not "
               "read here: "
               "nvcc --no-compress leaves them as they are";
        if (std::find(notes().begin(), notes().end(), text) == notes().end()) {
            note(text);
        }
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

Image read_fatbin(const std::byte *bytes, std::size_t size) {
    if (size < header_size) {
        throw ImageProblem{CUDA_ERROR_INVALID_IMAGE, "a damaged fatbin"};
    }
    const int device = compute_capability(current_device());
    const Entry *best = nullptr;
    const std::vector<Entry> entries = read_entries(bytes, size);
    for (const Entry &entry : entries) {
        if (!entry.compressed && entry.fits(device) &&
            (best == nullptr || entry.rank() > best->rank())) {
            best = &entry;
        }
    }
    if (best == nullptr) {
        refuse_all(entries, device);
    }
    if (best->kind == kind_cubin) {
        return read_image(best->bytes, best->size);
    }
    const auto *text = reinterpret_cast<const char *>(best->bytes);
    const auto *end = std::find(text, text + best->size, '\0');
    return read_ptx({text, static_cast<std::size_t>(end - text)});
}

} // namespace sim
