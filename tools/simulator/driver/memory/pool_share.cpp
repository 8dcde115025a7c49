// Memory pools and allocations shared by processes. The bytes of a pool are in one memory file,
// which is exported; an exported pointer is an offset in it.
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "engine/open_calls.hpp"
#include "engine/pool.hpp"
#include "memory/stream_ordered.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <cstring>

namespace sim {
namespace {

platform::File duplicate_of_client(void *handle) {
    platform::File borrowed =
        platform::File::adopt(static_cast<int>(reinterpret_cast<std::intptr_t>(handle)));
    platform::File own = borrowed.duplicate();
    borrowed.release(); // the client keeps it
    return own;
}

std::size_t header_size() {
    const std::size_t page = platform::map_granularity();
    return (sizeof(PoolFile) + page - 1) / page * page;
}

// Maps the file of another process's pool; null if it is something else.
std::shared_ptr<Segment> open_pool(platform::File file) {
    auto segment = std::make_shared<Segment>();
    const std::size_t whole = file.size();
    if (whole <= header_size() || file.can_shrink()) {
        return nullptr;
    }
    segment->view = file.map(0, whole);
    if (segment->view == nullptr) {
        return nullptr;
    }
    segment->size = whole;
    segment->file = std::move(file);
    const auto &header = *reinterpret_cast<const PoolFile *>(segment->view);
    return header.magic == PoolFile::own_magic && header.size == whole ? segment : nullptr;
}

// Assigns a slot in the pool's table to an allocation, which counts as exported afterwards.
void assign_slot(PoolAllocation &allocation, PoolFile &file) {
    for (std::uint32_t i = 0; allocation.identity == 0 && i != file.slots.size(); ++i) {
        PoolFile::Slot &slot = file.slots[i];
        if (slot.identity.load() == 0 && slot.imports.load() == 0) {
            allocation.slot = i;
            allocation.identity = unique_number();
            slot.identity.store(allocation.identity);
        }
    }
    require(allocation.identity != 0, CUDA_ERROR_OUT_OF_MEMORY);
}

// Counts an import if the pool contains the allocation.
void enter_slot(PoolFile &file, const PoolPointer &pointer) {
    require(pointer.magic == PoolPointer::own_magic && pointer.pool == file.identity);
    require(pointer.slot < file.slots.size() && pointer.identity != 0);
    PoolFile::Slot &slot = file.slots[pointer.slot];
    slot.imports.fetch_add(1);
    if (slot.identity.load() != pointer.identity) {
        slot.imports.fetch_sub(1);
        refuse(CUDA_ERROR_INVALID_VALUE); // it was freed
    }
}

} // namespace

namespace driver {

EXPORT CUresult cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                                 CUmemAllocationHandleType handleType,
                                                 unsigned long long flags) {
    PoolState &state = *pool_of(pool).state;
    const auto type = static_cast<unsigned int>(handleType);
    require(handle_out != nullptr);
    require(flags == 0, "Parameter flags must be 0");
    require(!state.imported);
    require(type == handle_type::posix_fd && (state.handle_types & type) != 0,
            "Handle type was not requested during pool creation");
    platform::File copy = state.segment->file.duplicate();
    require(copy.valid(), CUDA_ERROR_OUT_OF_MEMORY);
    const int descriptor = static_cast<int>(copy.release());
    note_export(descriptor);
    std::memcpy(handle_out, &descriptor, sizeof descriptor);
    state.exported = true;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolImportFromShareableHandle(OUT CUmemoryPool *pool_out, void *handle,
                                                   CUmemAllocationHandleType handleType,
                                                   unsigned long long flags) {
    require(pool_out != nullptr);
    const auto type = static_cast<unsigned int>(handleType);
    require(flags == 0, "flags must be 0");
    check_imported(handle, type);
    require(type == handle_type::posix_fd, CUDA_ERROR_NOT_SUPPORTED);
    platform::File file = duplicate_of_client(handle);
    require(file.valid(), CUDA_ERROR_UNKNOWN);
    auto segment = open_pool(std::move(file));
    require(segment != nullptr, CUDA_ERROR_UNKNOWN);
    auto state = std::make_shared<PoolState>();
    state->imported = true;
    state->segment = std::move(segment);
    state->place = state->file()->place;
    const int device = state->place.device();
    require(device >= 0 && device < device_count(), CUDA_ERROR_NOT_SUPPORTED);
    *pool_out = Registry::get().make<Pool>(std::move(state));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolExportPointer(OUT CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr) {
    require(shareData_out != nullptr);
    const Range *range = AddressSpace::get().find_base(ptr);
    if (range == nullptr) {
        AddressSpace::get().report_freed(ptr, "export");
    }
    require(range != nullptr && range->memory == Memory::pool,
            "Can't export a pointer that doesn't belong to CUmemoryPool based allocation");
    PoolAllocation &allocation = pool_allocation(*range);
    PoolFile *file = allocation.pool->file();
    require(file != nullptr && allocation.pool->exported && range->ended_by == nullptr);
    assign_slot(allocation, *file);
    const PoolPointer pointer{PoolPointer::own_magic,
                              file->identity,
                              allocation.identity,
                              range->backing->offset(),
                              range->size,
                              allocation.slot,
                              {}};
    std::memcpy(shareData_out, &pointer, sizeof pointer);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolImportPointer(OUT CUdeviceptr *ptr_out, CUmemoryPool pool,
                                       CUmemPoolPtrExportData *shareData) {
    require(ptr_out != nullptr);
    Pool &object = pool_of(pool);
    require(shareData != nullptr && object.state->imported);
    PoolPointer pointer;
    std::memcpy(&pointer, shareData, sizeof pointer);
    const Segment &segment = *object.state->segment;
    require(pointer.offset >= header_size() && pointer.offset <= segment.size &&
                pointer.size != 0 && pointer.size <= segment.size - pointer.offset,
            "Failed to import allocation based on export data");
    enter_slot(*object.state->file(), pointer);
    auto allocation = std::make_shared<PoolAllocation>();
    allocation->pool = object.state;
    allocation->identity = pointer.identity;
    allocation->slot = pointer.slot;
    *ptr_out = import_pool_memory(pointer.offset, pointer.size, std::move(allocation)).base;
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
