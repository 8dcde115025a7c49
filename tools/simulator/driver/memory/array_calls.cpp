// Creation, description and destruction of arrays and mipmapped arrays.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/work.hpp"
#include "memory/array.hpp"

#include <algorithm>

namespace sim {
namespace {

constexpr std::size_t tile_bytes = std::size_t(64) << 10;

CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY_DESCRIPTOR &narrow) {
    CUDA_ARRAY3D_DESCRIPTOR wide{};
    wide.Width = narrow.Width;
    wide.Height = narrow.Height;
    wide.Format = narrow.Format;
    wide.NumChannels = narrow.NumChannels;
    return wide;
}

void create_array(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *description) {
    Context &context = current_context();
    require(array != nullptr && description != nullptr);
    *array = &make_array(context, *description);
}

// Waits for enqueued work that uses the array, then destroys it, even if its context has failed,
// which the status reports.
template <class T>
CUresult end_array(T *handle) {
    wait_until_unused(checked(handle).place); // releases the lock
    T &array = checked(handle);
    const CUresult failed = fault_of(array.context);
    Registry::get().destroy(&array);
    return failed;
}

// An array of a context that has not failed. Recorded: a failure of the current context is reported
// before the handle is checked.
const Array &usable_array(CUarray handle) {
    require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);
    if (const Context *current = current_or_null()) {
        check_still_usable(current);
    }
    const Array &array = checked(handle);
    check_usable(*array.context);
    return array;
}

// Recorded: some calls take an array that was destroyed with its context for an invalid value.
template <class T>
const T &described(T *handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) {
    return checked(handle, otherwise, CUDA_ERROR_INVALID_VALUE);
}

#if CUDA_VERSION >= 11010
struct Tile {
    unsigned int width, height, depth;
};

// The shape of a tile of 64 KiB.
Tile tile_of(const CUDA_ARRAY3D_DESCRIPTOR &d) {
    const bool volume = d.Depth != 0 && (d.Flags & CUDA_ARRAY3D_LAYERED) == 0;
    Tile tile = volume ? Tile{64, 32, 32} : Tile{256, 256, 1};
    bool across = false;
    for (std::size_t bytes = element_size(d.Format, d.NumChannels); bytes > 1; bytes /= 2) {
        if (volume) {
            (across ? tile.depth : tile.width) /= 2;
        } else {
            (across ? tile.width : tile.height) /= 2;
        }
        across = !across;
    }
    return tile;
}

template <class Properties>
void describe_tiles(Properties &properties, const CUDA_ARRAY3D_DESCRIPTOR &d, unsigned int levels) {
    require((d.Flags & 0x40) != 0); // CUDA_ARRAY3D_SPARSE
    const Tile tile = tile_of(d);
    unsigned int first = 0;
    while (first < levels && std::max<std::size_t>(d.Width >> first, 1) >= tile.width &&
           std::max<std::size_t>(d.Height >> first, 1) >= tile.height) {
        ++first;
    }
    properties = {};
    properties.tileExtent.width = tile.width;
    properties.tileExtent.height = tile.height;
    properties.tileExtent.depth = tile.depth;
    properties.miptailFirstLevel = levels == 1 ? 0 : first;
    properties.miptailSize = levels > 1 && first < levels ? tile_bytes : 0;
}
#endif

#if CUDA_VERSION >= 11060
// Memory for an array whose physical memory is mapped later: whole tiles.
void describe_memory(CUDA_ARRAY_MEMORY_REQUIREMENTS &requirements, const CUDA_ARRAY3D_DESCRIPTOR &d,
                     std::size_t bytes) {
    require((d.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0);
    requirements = {};
    requirements.size = (bytes + tile_bytes - 1) / tile_bytes * tile_bytes;
    requirements.alignment = tile_bytes;
}
#endif

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuArrayCreate_v2(OUT CUarray *pHandle,
                                 const CUDA_ARRAY_DESCRIPTOR *pAllocateArray) {
    CUDA_ARRAY3D_DESCRIPTOR wide{};
    if (pAllocateArray != nullptr) {
        wide = widened(*pAllocateArray);
    }
    create_array(pHandle, pAllocateArray == nullptr ? nullptr : &wide);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuArray3DCreate_v2(OUT CUarray *pHandle,
                                   const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray) {
    create_array(pHandle, pAllocateArray);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray) {
    const CUDA_ARRAY3D_DESCRIPTOR &wide = usable_array(hArray).descriptor;
    require(pArrayDescriptor != nullptr);
    pArrayDescriptor->Width = wide.Width;
    pArrayDescriptor->Height = wide.Height;
    pArrayDescriptor->Format = wide.Format;
    pArrayDescriptor->NumChannels = wide.NumChannels;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor,
                                          CUarray hArray) {
    const Array &array = usable_array(hArray);
    require(pArrayDescriptor != nullptr);
    *pArrayDescriptor = array.descriptor;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuArrayDestroy(CUarray hArray) {
    Array &array = checked(hArray);
    if (array.whole != nullptr) {
        // The recorded driver returns success and crashes later.
        misuse("cuArrayDestroy of a level of " + array.whole->describe());
        return CUDA_SUCCESS;
    }
    return end_array(hArray);
}

EXPORT CUresult cuMipmappedArrayCreate(OUT CUmipmappedArray *pHandle,
                                       const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                       unsigned int numMipmapLevels) {
    Context &context = current_context();
    require(pHandle != nullptr && pMipmappedArrayDesc != nullptr);
    *pHandle = &make_mipmapped_array(context, *pMipmappedArrayDesc, numMipmapLevels);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMipmappedArrayGetLevel(OUT CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                         unsigned int level) {
    const MipmappedArray &whole = checked(hMipmappedArray);
    require(pLevelArray != nullptr && level < whole.levels.size());
    *pLevelArray = whole.levels[level];
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
    return end_array(hMipmappedArray);
}

#if CUDA_VERSION >= 11020
// No array of the supported formats has planes.
EXPORT CUresult cuArrayGetPlane(OUT CUarray *, CUarray hArray, unsigned int) {
    usable_array(hArray);
    return CUDA_ERROR_INVALID_VALUE;
}
#endif

#if CUDA_VERSION >= 11010
EXPORT CUresult cuArrayGetSparseProperties(OUT CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                           CUarray array) {
    require(sparseProperties != nullptr && array != nullptr);
    const Array &checked_array = described(array);
    describe_tiles(*sparseProperties, checked_array.descriptor, 1);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMipmappedArrayGetSparseProperties(
    OUT CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUmipmappedArray mipmap) {
    require(sparseProperties != nullptr && mipmap != nullptr);
    const MipmappedArray &whole = described(mipmap);
    describe_tiles(*sparseProperties, whole.descriptor,
                   static_cast<unsigned int>(whole.levels.size()));
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 11060
// Recorded: the device is not checked.
EXPORT CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                             CUarray array, CUdevice) {
    require(memoryRequirements != nullptr && array != nullptr);
    const Array &checked_array = described(array);
    describe_memory(*memoryRequirements, checked_array.descriptor, checked_array.bytes());
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMipmappedArrayGetMemoryRequirements(
    OUT CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUmipmappedArray mipmap, CUdevice) {
    const MipmappedArray &whole = described(mipmap, CUDA_ERROR_INVALID_VALUE);
    require(memoryRequirements != nullptr && mipmap != nullptr);
    describe_memory(
        *memoryRequirements, whole.descriptor,
        mipmapped_bytes(whole.descriptor, static_cast<unsigned int>(whole.levels.size())));
    return CUDA_SUCCESS;
}
#endif

} // namespace sim::driver
