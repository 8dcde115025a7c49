#include <cushim/code.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "base/platform/platform.hpp"
#include "base/ranges.hpp"
#include "jit_log.hpp"
#include "loadable_code.hpp"

namespace cushim {
namespace detail {
namespace {

template <class T>
T read_at(const void *bytes, std::size_t offset) noexcept {
    T value;
    std::memcpy(&value, static_cast<const char *>(bytes) + offset, sizeof value);
    return value;
}

// The end of a table of an ELF file; saturates on overflow.
std::uint64_t table_end(std::uint64_t offset, std::uint64_t entries) noexcept {
    return sum_overflows(offset, entries) ? UINT64_MAX : offset + entries;
}

struct Format {
    const char *name, *header;
    std::size_t header_size;
};
constexpr Format cubin = {"cubin", "an ELF header", 64}, fatbin = {"fatbin", "its header", 16};

// The tables are at the end of an ELF file, so a truncated one lacks them.
std::uint64_t size_of_cubin(const void *bytes, std::size_t size) noexcept {
    if (size < cubin.header_size || read_at<std::uint8_t>(bytes, 4) != 2) { // 64-bit ELF
        return cubin.header_size;
    }
    const auto end = [bytes](std::size_t offset, std::size_t entry_size) noexcept {
        return table_end(read_at<std::uint64_t>(bytes, offset),
                         std::uint64_t(read_at<std::uint16_t>(bytes, entry_size)) *
                             read_at<std::uint16_t>(bytes, entry_size + 2));
    };
    const std::uint64_t segments = end(32, 54), sections = end(40, 58);
    return segments > sections ? segments : sections;
}

std::uint64_t size_of_fatbin(const void *bytes, std::size_t size) noexcept {
    if (size < fatbin.header_size) {
        return fatbin.header_size;
    }
    return table_end(read_at<std::uint16_t>(bytes, 6), read_at<std::uint64_t>(bytes, 8));
}

constexpr char elf_magic[] = "\177ELF", fatbin_magic[] = "\x50\xed\x55\xba";

bool begins_with(const void *bytes, std::size_t size, const char (&magic)[5]) noexcept {
    return size >= 4 && std::memcmp(bytes, magic, 4) == 0;
}

Result<void> check_size(const Format &format, std::uint64_t says, std::size_t has) noexcept {
    if (has < format.header_size) {
        return invalid_argument("the %s is truncated: it has %zu bytes, but %s has %zu",
                                format.name, has, format.header, format.header_size);
    }
    if (says > has) {
        return invalid_argument("the %s is truncated: it has %zu bytes, but its header requires "
                                "%llu",
                                format.name, has, static_cast<unsigned long long>(says));
    }
    return {};
}

Result<void> check_sizes(const void *bytes, std::size_t size) noexcept {
    if (begins_with(bytes, size, elf_magic)) {
        return check_size(cubin, size_of_cubin(bytes, size), size);
    }
    if (begins_with(bytes, size, fatbin_magic)) {
        return check_size(fatbin, size_of_fatbin(bytes, size), size);
    }
    return {};
}

Result<void> require_bytes(const CodeImage &image) noexcept {
    if (image.data() == nullptr) {
        return Error::invalid_argument("the image is null");
    }
    return image.size() != 0 ? Result<void>() : Error::invalid_argument("the image has size 0");
}

// Memory for a file of unknown size, with room for a NUL at the end.
class FileBytes {
  public:
    FileBytes() noexcept = default;
    FileBytes(const FileBytes &) = delete;
    FileBytes &operator=(const FileBytes &) = delete;
    ~FileBytes() { std::free(bytes_); }

    // False if out of memory.
    bool make_room() noexcept {
        if (size_ + 1 < capacity_) {
            return true;
        }
        const std::size_t wanted = capacity_ == 0 ? 65536 : capacity_ * 2;
        auto *const grown = static_cast<char *>(std::realloc(bytes_, wanted));
        if (grown != nullptr) {
            bytes_ = grown;
            capacity_ = wanted;
        }
        return grown != nullptr;
    }
    // Reads into the free room; 0 at the end and on errors.
    std::size_t fill(std::FILE *file) noexcept {
        const std::size_t added = std::fread(bytes_ + size_, 1, capacity_ - size_ - 1, file);
        size_ += added;
        return added;
    }

    std::size_t size() const noexcept { return size_; }
    // Appends a NUL; the caller frees the result.
    char *take() noexcept {
        bytes_[size_] = '\0';
        char *const taken = bytes_;
        bytes_ = nullptr;
        return taken;
    }

  private:
    char *bytes_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

Error unreadable(const char *path, int code) noexcept {
    char text[400];
    std::snprintf(text, sizeof text, "%.250s cannot be read: %s", path, errno_text(code).c_str());
    return Error::make({.status = CUDA_ERROR_FILE_NOT_FOUND, .detail = text});
}

Result<void> read_all(std::FILE *file, const char *path, FileBytes &bytes) noexcept {
    do {
        if (!bytes.make_room()) {
            return no_host_memory();
        }
        errno = 0;
    } while (bytes.fill(file) != 0);
    if (std::ferror(file) != 0) {
        return unreadable(path, errno);
    }
    return {};
}

} // namespace

Result<std::size_t> size_of(const CodeImage &image) noexcept {
    CUSHIM_TRY_VOID(require_bytes(image));
    const void *const bytes = image.data();
    if (image.size() != CodeImage::unknown) {
        CUSHIM_TRY_VOID(check_sizes(bytes, image.size()));
        return image.size();
    }
    const std::string_view text = static_cast<const char *>(bytes);
    if (begins_with(bytes, text.size(), elf_magic)) {
        return std::max(std::size_t(size_of_cubin(bytes, cubin.header_size)), cubin.header_size);
    }
    if (begins_with(bytes, text.size(), fatbin_magic)) {
        return size_of_fatbin(bytes, fatbin.header_size);
    }
    return text.size();
}

Result<LoadableCode> LoadableCode::of(const CodeImage &image) noexcept {
    const std::size_t size = image.size();
    CUSHIM_TRY_VOID(require_bytes(image));
    if (size == CodeImage::unknown) {
        return LoadableCode(image.data());
    }
    CUSHIM_TRY_VOID(check_sizes(image.data(), size));
    if (std::memchr(image.data(), '\0', size) != nullptr) {
        return LoadableCode(image.data());
    }
    auto *const copy = static_cast<char *>(std::malloc(size + 1));
    if (copy == nullptr) {
        return no_host_memory();
    }
    std::memcpy(copy, image.data(), size);
    copy[size] = '\0';
    return LoadableCode(copy, copy);
}

Result<LoadableCode> LoadableCode::read(const char *path) noexcept {
    if (path == nullptr) {
        return Error::invalid_argument("the path is null");
    }
    std::FILE *const file = std::fopen(path, "rb");
    if (file == nullptr) {
        return unreadable(path, errno);
    }
    FileBytes bytes;
    const Result<void> done = read_all(file, path, bytes);
    std::fclose(file);
    CUSHIM_TRY_VOID(done);
    const std::size_t size = bytes.size();
    char *const taken = bytes.take();
    LoadableCode code(taken, taken);
    CUSHIM_TRY_VOID(check_sizes(taken, size));
    return code;
}

CodeBytes::CodeBytes(std::size_t size) noexcept {
    data_ = sum_overflows(size, 1) ? nullptr : new (std::nothrow) char[size + 1]();
    size_ = data_ != nullptr ? size : 0;
}

void CodeBytes::release(char *data) noexcept {
    delete[] data;
}

CodeBytes copy_of(std::string_view text) noexcept {
    CodeBytes copy(text.size());
    if (copy) {
        text.copy(copy.data(), text.size());
    }
    return copy;
}

JitLog CodeAccess::log(std::string_view info, std::string_view error) noexcept {
    JitLog log;
    log.info_ = copy_of(info);
    log.error_ = copy_of(error);
    return log;
}

} // namespace detail
} // namespace cushim
