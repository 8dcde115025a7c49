// Detects the form of an image; code that all forms share.
#include "image/image.hpp"
#include "base/refusal.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

namespace sim {
namespace {

constexpr std::string_view elf_magic = "\x7f"
                                       "ELF\x02\x01\x01";
constexpr std::string_view fatbin_magic = "\x50\xed\x55\xba";
constexpr std::string_view wrapper_magic =
    "\xb1\x43\x62\x46"; // the wrapper that nvcc puts around a fatbin

// Stops at the first byte that differs: an image may be a string of one byte.
bool begins_with(const char *bytes, std::optional<std::size_t> size, std::string_view magic) {
    if (size && *size < magic.size()) {
        return false;
    }
    for (std::size_t i = 0; i < magic.size(); ++i) {
        if (bytes[i] != magic[i]) {
            return false;
        }
    }
    return true;
}

[[noreturn]] void invalid(const char *text) {
    throw ImageProblem{CUDA_ERROR_INVALID_IMAGE, text};
}

// The text after leading white space and comments.
std::string_view skip_comments(std::string_view text) {
    for (;;) {
        while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
            text.remove_prefix(1);
        }
        if (text.starts_with("//")) {
            text.remove_prefix(std::min(text.find('\n'), text.size()));
        } else if (text.starts_with("/*")) {
            const auto end = text.find("*/");
            text.remove_prefix(end == text.npos ? text.size() : end + 2);
        } else {
            return text;
        }
    }
}

Image read_any_text(std::string_view text) {
    const std::string_view body = skip_comments(text);
    if (body.starts_with("cushim-sim-image")) {
        return read_text(text);
    }
    if (body.starts_with(".version")) {
        return read_ptx(text);
    }
    invalid("not a cubin, a fatbin or PTX (which begins with .version)");
}

Image read_wrapped(const char *bytes, int cc) {
    const void *data = nullptr;
    std::memcpy(&data, bytes + 8, sizeof data);
    if (data == nullptr) {
        invalid("a fatbin wrapper without a fatbin");
    }
    const auto *inner = static_cast<const char *>(data);
    if (!begins_with(inner, {}, fatbin_magic)) {
        invalid("a fatbin wrapper whose content is not a fatbin");
    }
    const auto *fatbin = static_cast<const std::byte *>(data);
    return read_fatbin(fatbin, fatbin_size(fatbin), cc);
}

} // namespace

void ImageKernel::add_parameter(std::size_t size, std::size_t alignment) {
    if (alignment == 0) {
        const std::size_t of_size = size == 0 ? 1 : std::size_t(1) << std::countr_zero(size);
        alignment = std::min<std::size_t>(of_size, 16);
    }
    const std::size_t offset = (parameter_bytes() + alignment - 1) & ~(alignment - 1);
    parameters.push_back({offset, size});
}

const ImageKernel *Image::kernel(std::string_view name) const noexcept {
    const auto found = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const ImageKernel &k) { return k.name == name; });
    return found == kernels.end() ? nullptr : &*found;
}

void Image::sort_names() {
    by_name.resize(kernels.size());
    std::iota(by_name.begin(), by_name.end(), std::size_t(0));
    std::stable_sort(by_name.begin(), by_name.end(), [this](std::size_t a, std::size_t b) {
        return kernels[a].name < kernels[b].name;
    });
}

std::optional<std::size_t> Image::place_of_kernel(std::string_view name) const noexcept {
    const auto found = std::lower_bound(by_name.begin(), by_name.end(), name,
                                        [this](std::size_t place, std::string_view wanted) {
                                            return kernels[place].name < wanted;
                                        });
    const bool exists = found != by_name.end() && kernels[*found].name == name;
    return exists ? std::optional(*found) : std::nullopt;
}

const ImageVariable *Image::variable(std::string_view name) const noexcept {
    const auto found = std::find_if(variables.begin(), variables.end(),
                                    [&](const ImageVariable &v) { return v.name == name; });
    return found == variables.end() ? nullptr : &*found;
}

bool Image::fits(int cc) const noexcept {
    const bool binary_fits = binary_cc == 0 || (binary_cc / 10 == cc / 10 && binary_cc <= cc);
    return binary_fits && minimum_cc <= cc;
}

Image read_image(const void *image, std::optional<std::size_t> size, int cc) {
    const auto *bytes = static_cast<const char *>(image);
    const auto *raw = static_cast<const std::byte *>(image);
    if (begins_with(bytes, size, elf_magic)) {
        const std::size_t own = size && *size < 64 ? 0 : cubin_size(raw);
        if (own == 0 || (size && own > *size)) {
            invalid("a truncated cubin, or an ELF file for another machine");
        }
        return read_cubin(raw, own);
    }
    if (begins_with(bytes, size, fatbin_magic)) {
        const std::size_t own = size && *size < 16 ? 0 : fatbin_size(raw);
        if (own == 0 || (size && own > *size)) {
            invalid("a truncated fatbin");
        }
        return read_fatbin(raw, own, cc);
    }
    if (!size && begins_with(bytes, size, wrapper_magic)) {
        return read_wrapped(bytes, cc);
    }
    const std::size_t length =
        size ? std::find(bytes, bytes + *size, '\0') - bytes : std::strlen(bytes);
    return read_any_text({bytes, length});
}

std::string read_file(const char *path) try {
    std::ifstream file(path, std::ios::binary);
    require(file.good(), CUDA_ERROR_FILE_NOT_FOUND);
    return {std::istreambuf_iterator<char>(file), {}};
} catch (const std::ios_base::failure &) { // thrown for a folder
    refuse(CUDA_ERROR_FILE_NOT_FOUND);
}

} // namespace sim
