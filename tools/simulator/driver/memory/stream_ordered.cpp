#include "memory/stream_ordered.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/engine.hpp"
#include "engine/graph_memory.hpp"
#include "engine/open_calls.hpp"
#include "engine/pool.hpp"
#include "engine/stream.hpp"
#include "engine/work.hpp"
#include "memory/managed.hpp"
#include "memory/virtual_memory.hpp"

#include <utility>
#include <vector>

namespace sim {
namespace {

constexpr std::size_t alignment = 512; // bytes

CUmemPoolProps properties_of(const PoolState &pool) {
    CUmemPoolProps properties{};
    properties.allocType = static_cast<CUmemAllocationType>(pool.place.type);
    properties.handleTypes = static_cast<CUmemAllocationHandleType>(pool.handle_types);
    properties.location.type = static_cast<CUmemLocationType>(pool.place.where);
    properties.location.id = pool.place.id;
    return properties;
}

// Range::check: access of another device requires permission from the pool.
void check_pool_access(const Range &range, std::size_t, std::size_t, bool write, Accessor device) {
    const PoolState &pool = *pool_allocation(range).pool;
    require(!device || pool.allows(*device, write));
}

// The memory for a free in stream order: pool memory, and memory of cuMemAlloc. Fails for other
// memory and for freed memory.
Range &to_be_freed(CUdeviceptr address) {
    Range *range = AddressSpace::get().find(address);
    if (range == nullptr) {
        AddressSpace::get().report_freed(address, "free");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    if (range->base != address) {
        misuse("free of an address inside " + range->describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    if (range->memory != Memory::pool && range->memory != Memory::device) {
        misuse("stream-ordered free of " + range->describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    if (range->ended_by != nullptr) {
        misuse("second free of " + range->describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    return *range;
}

// Records that the current call frees the memory. The pool counts the bytes as free afterwards.
void mark_freed(Range &range) noexcept {
    const Call *call = Call::current();
    range.ended_by = call != nullptr ? call->name() : "the simulator";
    range.ended_in = call != nullptr ? call->number() : 0;
    if (range.memory == Memory::pool) {
        PoolAllocation &allocation = pool_allocation(range);
        allocation.ending = true;
        allocation.pool->used -= allocation.bytes;
        allocation.pool->ending += allocation.bytes;
    }
}

// Frees the memory, in stream order.
void end_memory(CUdeviceptr address) {
    Range *range = AddressSpace::get().find_base(address);
    if (range == nullptr || range->ended_by == nullptr) {
        return; // destroyed with its context
    }
    AddressSpace::get().remove(*range);
}

std::size_t whole_pages(std::size_t size) {
    const std::size_t page = platform::map_granularity();
    return (size + page - 1) / page * page;
}

// A range for bytes of a device. Keeps their contents.
Range &add_imported(std::shared_ptr<Backing> backing) {
    Range range;
    range.base = AddressSpace::get().reserve(backing->size(), alignment);
    range.size = backing->size();
    range.view = backing->view();
    range.memory = Memory::pool;
    range.device = backing->device();
    range.backing = std::move(backing);
    return AddressSpace::get().add(std::move(range));
}

// The allocation owns the range and its pages.
void give_pages(Range &range, std::shared_ptr<PoolAllocation> allocation) {
    allocation->pages = std::exchange(range.owner, allocation);
}

// Memory of the host, or managed memory.
Range &add_host_memory(std::size_t size, std::shared_ptr<PoolAllocation> allocation) {
    const PoolState &pool = *allocation->pool;
    const PoolPlace &place = pool.place;
    Range &range =
        pool.segment != nullptr
            ? map_on_host(Memory::pool,
                          Backing::of_pool(place.device(), whole_pages(size), pool.segment))
            : allocate_on_host(Memory::pool, place.device(), size, nullptr, place.is_managed());
    range.size = size;
    give_pages(range, std::move(allocation));
    if (range.managed) {
        managed_state(range).for_each(0, size, [&place](Advice &advice) {
            advice.preferred = {place.where,
                                place.where == location::none ? CU_DEVICE_INVALID : place.id};
        });
    }
    return range;
}

// Memory of a device, which only devices use.
Range &give_to(std::shared_ptr<PoolAllocation> allocation, Range &range) {
    range.owner = std::move(allocation);
    range.check = check_pool_access;
    return range;
}

Range &new_memory(const std::shared_ptr<PoolState> &pool, std::size_t size) {
    require(size != 0 && !pool->imported);
    auto allocation = std::make_shared<PoolAllocation>();
    allocation->pool = pool;
    pool->take(size);
    allocation->bytes = size;
    Range &range =
        pool->place.on_device()
            ? give_to(std::move(allocation),
                      allocate(Memory::pool, Backing::of_pool(pool->place.id, size, pool->segment),
                               nullptr))
            : add_host_memory(size, std::move(allocation));
    range.usable = false;
    return range;
}

Work pool_alloc_work(CUmemoryPool pool, std::size_t size, CUdeviceptr *address, const char *what) {
    const std::shared_ptr<PoolState> state = pool_of(pool).state;
    const CUdeviceptr base = new_memory(state, size).base;
    *address = base;
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    parameters.poolProps = properties_of(*state);
    parameters.bytesize = size;
    parameters.dptr = base;
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    work.what = what;
    work.parameters = parameters;
    work.uses = {{base, size}};
    work.run = [base](CUstream_st &) {
        if (Range *range = AddressSpace::get().find_base(base)) {
            range->usable = true;
        }
    };
    return work;
}

Work pool_free_work(CUdeviceptr address, const char *what) {
    if (is_graph_memory(address)) {
        return graph_free_work(address, what);
    }
    Range &range = to_be_freed(address);
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    work.what = what;
    work.parameters = address;
    work.accepted = [&range] { mark_freed(range); };
    work.run = [address](CUstream_st &) { end_memory(address); };
    work.otherwise = [address](CUstream_st &, CUresult) { end_memory(address); };
    return work;
}

CUdeviceptr allocate_async(CUstream_st &stream, Pool &pool, std::size_t size, const char *what) {
    if (size == 0) {
        return 0; // null, which can be freed too
    }
    if (stream.capture != nullptr) {
        // Recorded: the capture stays valid.
        require(pool.state->handle_types == 0, CUDA_ERROR_NOT_SUPPORTED);
        return capture_allocation(stream, pool.state->place, size);
    }
    refuse_implicit(stream);
    potentially_unsafe_call(); // for captures of other streams
    CUdeviceptr address = 0;
    Work work = pool_alloc_work(&pool, size, &address, what);
    try {
        const Ticket ticket = submit(stream, std::move(work));
        if (Range *range = AddressSpace::get().find_base(address)) {
            pool_allocation(*range).made = ticket;
        }
    } catch (...) {
        mark_freed(to_be_freed(address));
        end_memory(address);
        throw;
    }
    return address;
}

} // namespace

Range &import_pool_memory(std::size_t offset, std::size_t size,
                          std::shared_ptr<PoolAllocation> allocation) {
    const PoolState &pool = *allocation->pool;
    const bool on_device = pool.place.on_device();
    require(on_device || offset % platform::map_granularity() == 0);
    auto backing = Backing::of_file(pool.segment->file.duplicate(), offset,
                                    on_device ? size : whole_pages(size), pool.place.device());
    if (on_device) {
        return give_to(std::move(allocation), add_imported(std::move(backing)));
    }
    Range &range = map_on_host(Memory::pool, std::move(backing));
    range.size = size;
    give_pages(range, std::move(allocation));
    return range;
}

void free_pool_memory(Range &range) {
    const CUdeviceptr address = range.base;
    wait_until_unused(address);
    // Another thread may free it during each wait.
    if (const Ticket made = pool_allocation(to_be_freed(address)).made) {
        wait(made);
    }
    mark_freed(to_be_freed(address));
    end_memory(address);
}

void end_pool_memory_of(int device) {
    std::vector<CUdeviceptr> addresses;
    AddressSpace::get().for_each([&](const Range &range) {
        if (range.memory == Memory::pool && range.device == device) {
            addresses.push_back(range.base);
        }
    });
    for (const CUdeviceptr address : addresses) {
        if (Range *range = AddressSpace::get().find_base(address)) {
            if (range->counted && range->ended_by == nullptr) {
                note_left(*range, range->made_in_context);
            }
            AddressSpace::get().remove(*range);
        }
    }
}

namespace driver {

EXPORT CUresult cuMemAllocAsync(OUT CUdeviceptr *dptr, size_t bytesize, CUstream hStream) {
    require(dptr != nullptr);
    CUstream_st &stream = stream_of(hStream);
    require_pools(stream.context->device);
    Pool &pool = current_pool({.id = stream.context->device});
    *dptr = allocate_async(stream, pool, bytesize, "cuMemAllocAsync");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAllocFromPoolAsync(OUT CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                        CUstream hStream) {
    require(dptr != nullptr);
    CUstream_st &stream = stream_of(hStream);
    *dptr = allocate_async(stream, pool_of(pool), bytesize, "cuMemAllocFromPoolAsync");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
    CUstream_st &stream = stream_of(hStream);
    if (stream.capture != nullptr) {
        if (dptr == 0) {
            return CUDA_SUCCESS;
        }
        require(stream.capture->active(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        // Fails for memory that no graph allocated.
        capture_node(stream, free_node(*stream.capture->graph, dptr));
        return CUDA_SUCCESS;
    }
    refuse_implicit(stream);
    potentially_unsafe_call(); // for captures of other streams
    if (dptr != 0) {
        submit(stream, pool_free_work(dptr, "cuMemFreeAsync"));
    }
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
