// Memory of other APIs: imports, and buffers and mipmapped arrays that are mapped from them.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/memory.hpp"
#include "engine/work.hpp"
#include "interop/external.hpp"
#include "memory/array.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <utility>

CUextMemory_st::CUextMemory_st(CUctx_st &owner, sim::platform::File memory, std::size_t bytes)
    : Object(own_kind), file(std::move(memory)), size(bytes), living(std::make_shared<bool>(true)) {
    context = &owner;
}

CUextMemory_st::~CUextMemory_st() {
    *living = false;
}

namespace sim {
namespace {

constexpr unsigned int most_levels = 32; // for extents of 32 bits

// Types from the first CUDA version to DMABUF_FD of CUDA 13.
constexpr int last_type = 9;

void check_descriptor(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC &description) {
    const int type = static_cast<int>(description.type);
    require(type >= CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD && type <= last_type);
    require(!is_foreign_memory(type));
    require(type == importable_memory, CUDA_ERROR_NOT_SUPPORTED);
    require(description.size != 0 && all_zero(description.reserved));
    require((description.flags & ~static_cast<unsigned int>(CUDA_EXTERNAL_MEMORY_DEDICATED)) == 0);
}

// The size of a memory file; 0 if it is something else.
std::size_t importable_size(const platform::File &file) {
    if (Shared<SemaphoreState>::open(file.duplicate())) {
        return 0;
    }
    const std::size_t physical = physical_memory_size(file);
    return physical != 0 ? physical : file.size();
}

// Reports use of mapped memory after its import was destroyed, which CUDA does not permit. The
// recorded driver permits it.
void check_import(const Range &range, std::size_t offset, std::size_t size, bool, Accessor) {
    if (!*static_cast<const bool *>(range.owner.get())) {
        misuse("use after cuDestroyExternalMemory of " + range.describe());
    }
    if (!range.backing->contains(offset, size)) {
        misuse("the file of " + range.describe() + " was made smaller after its import");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
}

// The import behind a handle. Its mappings belong to its context, whichever context is current.
ExternalMemory &usable_import(CUexternalMemory handle) {
    ExternalMemory &memory = checked_external(handle);
    check_usable(*memory.context);
    return memory;
}

// A separate mapping of the bytes, which outlives the import.
std::shared_ptr<Backing> bytes_of(const ExternalMemory &memory, unsigned long long offset,
                                  unsigned long long size) {
    require(size != 0 && offset <= memory.size && size <= memory.size - offset);
    platform::File file = memory.file.duplicate();
    require(file.valid(), CUDA_ERROR_OUT_OF_MEMORY);
    return Backing::of_file(std::move(file), static_cast<std::size_t>(offset),
                            static_cast<std::size_t>(size), memory.context->device);
}

Range &map_buffer(ExternalMemory &memory, unsigned long long offset, unsigned long long size) {
    Range range;
    range.backing = bytes_of(memory, offset, size);
    range.view = range.backing->view();
    range.size = static_cast<std::size_t>(size);
    range.base = AddressSpace::get().reserve(range.size, 0);
    range.memory = Memory::external;
    range.device = memory.context->device;
    range.context = memory.context;
    range.owner = memory.living;
    range.check = check_import;
    return AddressSpace::get().add(std::move(range));
}

} // namespace

int make_memory_fd(std::size_t size) {
    return size == 0 ? -1 : static_cast<int>(platform::File::create(size).release());
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuImportExternalMemory(OUT CUexternalMemory *extMem_out,
                                       const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc) {
    Context &context = current_context();
    require(extMem_out != nullptr && memHandleDesc != nullptr);
    check_descriptor(*memHandleDesc);
    platform::File file = duplicate_of(memHandleDesc->handle);
    take_over(memHandleDesc->handle); // even if the call fails
    const std::size_t there = importable_size(file);
    require(there != 0, CUDA_ERROR_UNKNOWN);
    // The driver accepts an import with too large a size, but does not map bytes beyond the file.
    const auto size = std::min<unsigned long long>(memHandleDesc->size, there);
    *extMem_out = Registry::get().make<ExternalMemory>(context, std::move(file),
                                                       static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
}

EXPORT CUresult
cuExternalMemoryGetMappedBuffer(OUT CUdeviceptr *devPtr, CUexternalMemory extMem,
                                const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc) {
    ExternalMemory &memory = usable_import(extMem);
    require(devPtr != nullptr && bufferDesc != nullptr);
    require(bufferDesc->flags == 0 && all_zero(bufferDesc->reserved));
    *devPtr =
        static_cast<CUdeviceptr>(map_buffer(memory, bufferDesc->offset, bufferDesc->size).base);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuExternalMemoryGetMappedMipmappedArray(
    OUT CUmipmappedArray *mipmap, CUexternalMemory extMem,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *mipmapDesc) {
    ExternalMemory &memory = usable_import(extMem);
    require(mipmap != nullptr && mipmapDesc != nullptr && all_zero(mipmapDesc->reserved));
    const CUDA_ARRAY3D_DESCRIPTOR &description = mipmapDesc->arrayDesc;
    if (mipmapDesc->numLevels == 0) {
        misuse("a mipmapped array of 0 levels, which corrupts the heap of the recorded driver");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    require(mipmapDesc->numLevels <= most_levels);
    check_array_description(description, memory.context->device);
    const std::size_t size = mipmapped_bytes(description, mipmapDesc->numLevels);
    *mipmap = &make_mipmapped_array(*memory.context, description, mipmapDesc->numLevels,
                                    bytes_of(memory, mipmapDesc->offset, size));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory extMem) {
    Registry::get().destroy(&checked_external(extMem));
    return CUDA_SUCCESS;
}

} // namespace sim::driver
