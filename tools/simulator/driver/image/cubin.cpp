// A cubin: an ELF file for NVIDIA's machine type. Its symbols and notes about kernels are read.
#include "image/image.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

namespace sim {
namespace {

constexpr std::size_t header_size = 64, section_size = 64, symbol_size = 24;
constexpr unsigned int machine_cuda = 190;
constexpr unsigned int type_nobits = 8, type_symbols = 2;
constexpr unsigned int symbol_object = 1, symbol_function = 2;
constexpr unsigned int binding_local = 0, binding_weak = 2;
constexpr unsigned int other_entry = 0x10, other_managed = 0x04;
constexpr int reserved_shared =
    1024; // reserved in each block since 9.0: part of the section, not of the attribute

// Kinds of notes in .nv.info sections.
enum Note : unsigned int {
    note_max_threads = 0x05,
    note_frame_size = 0x11,
    note_parameter = 0x17,
    note_registers = 0x2f,
    note_cluster = 0x3d,
};

[[noreturn]] void damaged() {
    throw ImageProblem{CUDA_ERROR_INVALID_IMAGE, "a damaged cubin"};
}

struct Section {
    std::string_view name;
    unsigned int type = 0, link = 0, info = 0;
    std::size_t offset = 0, size = 0;
};

Linkage linkage_of(unsigned int binding) noexcept {
    return binding == binding_local  ? Linkage::local
           : binding == binding_weak ? Linkage::weak
                                     : Linkage::visible;
}

class Cubin {
  public:
    Cubin(const std::byte *bytes, std::size_t size) : bytes_(bytes), size_(size) {}

    Image read() {
        if (size_ < header_size) {
            damaged();
        }
        read_sections();
        image_.binary_cc = architecture();
        for (const Section &section : sections_) {
            if (section.type == type_symbols) {
                read_symbols(section);
            }
        }
        for (const Section &section : sections_) {
            if (section.name == ".nv.info") {
                read_notes(section, nullptr);
            } else if (section.name.starts_with(".nv.info.")) {
                read_notes(section, kernel(section.name.substr(9)));
            } else if (section.name.starts_with(".nv.shared.")) {
                if (ImageKernel *k = kernel(section.name.substr(11))) {
                    k->shared = shared_of(section);
                }
            }
        }
        for (auto &[k, list] : parameters_) {
            std::sort(list.begin(), list.end(),
                      [](const auto &a, const auto &b) { return a.offset < b.offset; });
            const auto overlap =
                std::adjacent_find(list.begin(), list.end(), [](const auto &a, const auto &b) {
                    return a.offset + a.size > b.offset;
                });
            if (overlap != list.end()) {
                damaged();
            }
            image_.kernels[k].parameters = std::move(list);
        }
        return std::move(image_);
    }

  private:
    std::uint64_t number(std::size_t offset, std::size_t length) const {
        if (offset > size_ || length > size_ - offset) {
            damaged();
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < length; ++i) {
            value |= static_cast<std::uint64_t>(bytes_[offset + i]) << (8 * i);
        }
        return value;
    }
    unsigned int word(std::size_t offset) const {
        return static_cast<unsigned int>(number(offset, 4));
    }
    std::string_view text(const Section &strings, std::size_t offset) const {
        if (offset >= strings.size) {
            damaged();
        }
        const auto *begin = reinterpret_cast<const char *>(bytes_) + strings.offset + offset;
        const auto *end = std::find(begin, begin + (strings.size - offset), '\0');
        if (end == begin + (strings.size - offset)) {
            damaged();
        }
        return {begin, static_cast<std::size_t>(end - begin)};
    }

    // Since CUDA 13, the ABI stores the architecture one byte higher.
    int architecture() const {
        const unsigned int flags = word(48);
        const bool newer = std::to_integer<int>(bytes_[7]) == 0x41;
        const int cc = static_cast<int>(newer ? (flags >> 8) & 0xff : flags & 0xff);
        return cc;
    }

    void read_sections() {
        const std::size_t offset = number(40, 8);
        const std::size_t count = number(60, 2), names = number(62, 2);
        if (number(58, 2) != section_size || names >= count) {
            damaged();
        }
        std::vector<std::size_t> name_offsets;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = offset + i * section_size;
            Section section;
            name_offsets.push_back(word(at));
            section.type = word(at + 4);
            section.offset = number(at + 24, 8);
            section.size = number(at + 32, 8);
            section.link = word(at + 40);
            section.info = word(at + 44);
            if (section.type != type_nobits &&
                (section.offset > size_ || section.size > size_ - section.offset)) {
                damaged();
            }
            sections_.push_back(section);
        }
        if (sections_[names].type == type_nobits) {
            damaged();
        }
        for (std::size_t i = 0; i < count; ++i) {
            sections_[i].name = text(sections_[names], name_offsets[i]);
        }
    }

    void read_symbols(const Section &table) {
        if (table.link >= sections_.size() || sections_[table.link].type == type_nobits) {
            damaged();
        }
        const std::size_t count = table.size / symbol_size;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = table.offset + i * symbol_size;
            const auto info = static_cast<unsigned int>(number(at + 4, 1));
            const unsigned int type = info & 15U;
            const auto other = static_cast<unsigned int>(number(at + 5, 1));
            const std::size_t home = number(at + 6, 2);
            if (home == 0 || home >= sections_.size()) {
                continue; // defined in another image
            }
            const std::string_view name = text(sections_[table.link], word(at));
            if (type == symbol_function && (other & other_entry) != 0) {
                ImageKernel kernel;
                kernel.name = name;
                kernel.linkage = linkage_of(info >> 4);
                kernel.max_threads = 1024;
                kernel.ptx_version = kernel.binary_version = image_.binary_cc;
                kernels_by_symbol_[i] = image_.kernels.size();
                image_.kernels.push_back(std::move(kernel));
            } else if (type == symbol_object && !name.starts_with("$")) {
                add_variable(name, sections_[home], number(at + 8, 8), number(at + 16, 8),
                             (other & other_managed) != 0, linkage_of(info >> 4));
            }
        }
    }
    void add_variable(std::string_view name, const Section &home, std::size_t offset,
                      std::size_t size, bool managed, Linkage linkage) {
        const bool constant = home.name.starts_with(".nv.constant3");
        if ((!constant && !home.name.starts_with(".nv.global")) || size == 0) {
            return;
        }
        ImageVariable variable;
        variable.kind = managed    ? ImageVariable::Kind::managed
                        : constant ? ImageVariable::Kind::constant
                                   : ImageVariable::Kind::global;
        variable.name = name;
        variable.linkage = linkage;
        variable.size = size;
        if (offset > home.size || size > home.size - offset) {
            damaged();
        }
        if (home.type != type_nobits) {
            const std::byte *initial = bytes_ + home.offset + offset;
            variable.initial.assign(initial, initial + size);
        }
        image_.variables.push_back(std::move(variable));
    }

    ImageKernel *kernel(std::string_view name) {
        const auto found = std::find_if(image_.kernels.begin(), image_.kernels.end(),
                                        [&](const ImageKernel &k) { return k.name == name; });
        return found == image_.kernels.end() ? nullptr : &*found;
    }
    ImageKernel *kernel_of_symbol(std::size_t symbol) {
        const auto found = kernels_by_symbol_.find(symbol);
        return found == kernels_by_symbol_.end() ? nullptr : &image_.kernels[found->second];
    }
    int shared_of(const Section &section) const {
        const int size = static_cast<int>(std::min<std::size_t>(section.size, 1 << 30));
        return image_.binary_cc >= 90 && size >= reserved_shared ? size - reserved_shared : size;
    }

    // A note: format, kind, and two bytes: a value or, in format 4, the size of the following data.
    void read_notes(const Section &section, ImageKernel *owner) {
        std::size_t at = section.offset;
        const std::size_t end = section.offset + section.size;
        while (section.type != type_nobits && at + 4 <= end) {
            const auto format = static_cast<unsigned int>(number(at, 1));
            const auto kind = static_cast<unsigned int>(number(at + 1, 1));
            const std::size_t size = format == 4 ? number(at + 2, 2) : 0;
            at += 4;
            if (size > end - at) {
                damaged();
            }
            if (format == 4) {
                read_note(kind, at, size, owner);
            }
            at += size;
        }
    }
    void read_note(unsigned int kind, std::size_t at, std::size_t size, ImageKernel *owner) {
        if (kind == note_parameter && size >= 12 && owner != nullptr) {
            const auto index = static_cast<std::size_t>(owner - image_.kernels.data());
            parameters_[index].push_back({number(at + 6, 2), word(at + 8) >> 18});
        } else if (kind == note_max_threads && size >= 12 && owner != nullptr) {
            const std::uint64_t threads = std::uint64_t(word(at)) * word(at + 4) * word(at + 8);
            owner->max_threads = static_cast<int>(std::clamp<std::uint64_t>(threads, 1, 1024));
        } else if (kind == note_cluster && size >= 12 && owner != nullptr) {
            for (std::size_t i = 0; i < 3; ++i) {
                owner->cluster[i] = word(at + 4 * i);
            }
        } else if ((kind == note_registers || kind == note_frame_size) && size >= 8) {
            if (ImageKernel *k = kernel_of_symbol(word(at))) {
                const int value = static_cast<int>(std::min(word(at + 4), 1U << 30));
                (kind == note_registers ? k->registers : k->local) = value;
            }
        }
    }

    const std::byte *bytes_;
    std::size_t size_;
    std::vector<Section> sections_;
    std::map<std::size_t, std::size_t> kernels_by_symbol_;
    std::map<std::size_t, std::vector<KernelParameter>> parameters_;
    Image image_;
};

} // namespace

std::size_t cubin_size(const std::byte *bytes) noexcept {
    const auto number = [&](std::size_t offset, std::size_t length) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < length; ++i) {
            value |= static_cast<std::uint64_t>(bytes[offset + i]) << (8 * i);
        }
        return value;
    };
    if (number(18, 2) != machine_cuda || number(52, 2) != header_size) {
        return 0;
    }
    constexpr std::size_t most = std::size_t(1) << 32;
    const std::size_t segments = number(32, 8) + number(54, 2) * number(56, 2);
    const std::size_t sections = number(40, 8) + number(58, 2) * number(60, 2);
    const std::size_t end = std::max(segments, sections);
    return end >= header_size && end < most ? end : 0;
}

Image read_cubin(const std::byte *bytes, std::size_t size) {
    return Cubin(bytes, size).read();
}

} // namespace sim
