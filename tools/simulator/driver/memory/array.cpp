#include "memory/array.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"

#include <algorithm>

namespace sim {
namespace {

constexpr unsigned int sparse_flag = 0x40, deferred_flag = 0x80;
constexpr unsigned int known_flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                     CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
                                     CUDA_ARRAY3D_COLOR_ATTACHMENT | sparse_flag | deferred_flag;

std::size_t limit(int device, CUdevice_attribute attribute) {
    return static_cast<std::size_t>(device_attribute(device, attribute));
}

void check_extent(std::size_t extent, int device, CUdevice_attribute attribute) {
    require(extent <= limit(device, attribute));
}

void check_cubemap(const CUDA_ARRAY3D_DESCRIPTOR &d, int device) {
    const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
    require(d.Width == d.Height && (layered ? d.Depth != 0 && d.Depth % 6 == 0 : d.Depth == 6));
    check_extent(d.Width, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH);
    if (layered) {
        check_extent(d.Depth, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS);
    }
}

void check_layered(const CUDA_ARRAY3D_DESCRIPTOR &d, int device) {
    require(d.Depth != 0);
    if (d.Height == 0) {
        check_extent(d.Width, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH);
        check_extent(d.Depth, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS);
    } else {
        check_extent(d.Width, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH);
        check_extent(d.Height, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT);
        check_extent(d.Depth, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS);
    }
}

void check_plain(const CUDA_ARRAY3D_DESCRIPTOR &d, int device) {
    if (d.Depth != 0) {
        require(d.Height != 0);
        check_extent(d.Width, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH);
        check_extent(d.Height, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT);
        check_extent(d.Depth, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH);
    } else if (d.Height != 0) {
        check_extent(d.Width, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH);
        check_extent(d.Height, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT);
    } else {
        check_extent(d.Width, device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH);
    }
}

// A hidden one-byte range. Its pending count shows whether enqueued work needs the array, and its
// removal checks the guard bytes.
std::uintptr_t hidden_place(int device, const std::shared_ptr<Backing> &bytes) {
    Range range;
    range.base = AddressSpace::get().reserve(1, 0);
    range.size = 1;
    range.backing = bytes;
    range.memory = Memory::array;
    range.device = device;
    range.counted = false; // its array counts instead
    return AddressSpace::get().add(std::move(range)).base;
}

void end_place(std::uintptr_t place) {
    if (Range *range = place != 0 ? AddressSpace::get().find_base(place) : nullptr) {
        AddressSpace::get().remove(*range);
    }
}

bool has_own_memory(const CUDA_ARRAY3D_DESCRIPTOR &description) {
    return (description.Flags & (sparse_flag | deferred_flag)) == 0;
}

CUDA_ARRAY3D_DESCRIPTOR level_of(CUDA_ARRAY3D_DESCRIPTOR description, unsigned int level) {
    const auto smaller = [level](std::size_t extent) {
        return extent == 0 ? 0 : std::max<std::size_t>(extent >> level, 1);
    };
    description.Width = smaller(description.Width);
    description.Height = smaller(description.Height);
    if ((description.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0) {
        description.Depth = smaller(description.Depth);
    }
    return description;
}

std::size_t bytes_of(const CUDA_ARRAY3D_DESCRIPTOR &d) {
    return element_size(d.Format, d.NumChannels) * d.Width * std::max<std::size_t>(d.Height, 1) *
           std::max<std::size_t>(d.Depth, 1);
}

} // namespace

std::size_t element_size(CUarray_format format, unsigned int channels) noexcept {
    const auto of = [channels](std::size_t bytes) {
        return channels == 1 || channels == 2 || channels == 4 ? bytes * channels : 0;
    };
    switch (static_cast<int>(format)) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return of(1);
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return of(2);
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return of(4);
    default:
        break;
    }
    // Normalized integers: 1, 2 and 4 channels of 8 bits, then of 16; unsigned, then signed.
    const int normalised = static_cast<int>(format) - 0xc0;
    if (normalised < 0 || normalised >= 12) {
        return 0;
    }
    const unsigned int own_channels = 1U << (normalised % 3);
    return channels == own_channels ? own_channels * (normalised / 3 % 2 == 0 ? 1 : 2) : 0;
}

void check_array_description(const CUDA_ARRAY3D_DESCRIPTOR &d, int device) {
    require(d.Width != 0 && element_size(d.Format, d.NumChannels) != 0);
    require((d.Flags & ~known_flags) == 0);
    if ((d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0) {
        require(d.Height != 0 && d.Depth == 0);
    }
    if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
        check_cubemap(d, device);
    } else if ((d.Flags & CUDA_ARRAY3D_LAYERED) != 0) {
        check_layered(d, device);
    } else {
        check_plain(d, device);
    }
}

Array &make_array(Context &owner, const CUDA_ARRAY3D_DESCRIPTOR &description) {
    check_array_description(description, owner.device);
    std::shared_ptr<Backing> bytes;
    if (has_own_memory(description)) {
        bytes = Backing::of_device(owner.device, bytes_of(description), false);
    }
    Array &array = *Registry::get().make<Array>(owner, description);
    array.place = hidden_place(owner.device, bytes);
    array.backing = std::move(bytes);
    return array;
}

std::size_t mipmapped_bytes(const CUDA_ARRAY3D_DESCRIPTOR &description, unsigned int levels) {
    std::size_t bytes = 0;
    for (unsigned int level = 0; level < levels; ++level) {
        bytes += bytes_of(level_of(description, level));
    }
    return bytes;
}

MipmappedArray &make_mipmapped_array(Context &owner, const CUDA_ARRAY3D_DESCRIPTOR &description,
                                     unsigned int levels, std::shared_ptr<Backing> bytes) {
    check_array_description(description, owner.device);
    const bool layers = (description.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    const std::size_t largest = std::max(
        {description.Width, description.Height, layers ? std::size_t(0) : description.Depth});
    unsigned int possible = 1;
    while ((largest >> possible) != 0) {
        ++possible;
    }
    levels = std::clamp(levels, 1U, possible);
    if (bytes == nullptr && has_own_memory(description)) {
        bytes = Backing::of_device(owner.device, mipmapped_bytes(description, levels), false);
    }
    MipmappedArray &whole = *Registry::get().make<MipmappedArray>(owner, description);
    whole.place = hidden_place(owner.device, bytes);
    std::size_t offset = 0;
    for (unsigned int level = 0; level < levels; ++level) {
        Array &part = *Registry::get().make<Array>(owner, level_of(description, level));
        part.counted = false;
        part.backing = bytes;
        part.offset = offset;
        part.whole = &whole;
        part.place = whole.place;
        offset += part.bytes();
        whole.levels.push_back(&part);
    }
    return whole;
}

} // namespace sim

CUarray_st::CUarray_st(CUctx_st &owner, const CUDA_ARRAY3D_DESCRIPTOR &description)
    : Object(own_kind), descriptor(description), device(owner.device) {
    context = &owner;
}

CUarray_st::~CUarray_st() {
    if (whole == nullptr) {
        sim::end_place(place);
    }
}

std::size_t CUarray_st::row_bytes() const noexcept {
    return sim::element_size(descriptor.Format, descriptor.NumChannels) * descriptor.Width;
}

CUmipmappedArray_st::CUmipmappedArray_st(CUctx_st &owner,
                                         const CUDA_ARRAY3D_DESCRIPTOR &description)
    : Object(own_kind), descriptor(description) {
    context = &owner;
}

CUmipmappedArray_st::~CUmipmappedArray_st() {
    for (CUarray_st *level : levels) {
        sim::Registry::get().destroy(level);
    }
    sim::end_place(place);
}
