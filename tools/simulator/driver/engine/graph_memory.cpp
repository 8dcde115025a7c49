#include "engine/graph_memory.hpp"
#include "base/immortal.hpp"
#include "call/misuse.hpp"
#include "engine/capture.hpp"
#include "engine/device.hpp"
#include "engine/memory.hpp"
#include "engine/pool.hpp"
#include "engine/stream.hpp"

#include <algorithm>
#include <set>

namespace sim {
namespace {

// The graph memory of a device, in bytes. Memory that was used stays reserved until it is trimmed.
struct Usage {
    std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
    LinkedList<GraphAllocation, &GraphAllocation::in_idle> idle; // a trim frees these
};
// Memory is reserved in pieces of this size, and used memory is counted in whole pieces.
constexpr std::uint64_t reservation = std::uint64_t(32) << 20;

std::uint64_t rounded(std::uint64_t bytes) {
    return (bytes + reservation - 1) / reservation * reservation;
}

std::map<int, Usage> &usages() {
    static Immortal<std::map<int, Usage>> map;
    return *map;
}

std::map<CUdeviceptr, GraphAllocation *> &allocations() {
    static Immortal<std::map<CUdeviceptr, GraphAllocation *>> map;
    return *map;
}

using Kept = LinkedList<GraphAllocation, &GraphAllocation::in_kept>;
using Idle = LinkedList<GraphAllocation, &GraphAllocation::in_idle>;

Range *range_of(const GraphAllocation &allocation) {
    return AddressSpace::get().find_base(static_cast<std::uintptr_t>(allocation.address));
}

// The allocation at this address. A free fails if no launch has allocated it.
std::shared_ptr<GraphAllocation> outstanding_allocation(CUdeviceptr address, const char *what) {
    const auto allocation = find_allocation(address);
    require(allocation != nullptr);
    if (!allocation->outstanding()) {
        misuse(std::string(what) +
               " of graph memory that is not allocated: " + range_of(*allocation)->describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    return allocation;
}

std::uint64_t attribute(int device, CUgraphMem_attribute name) {
    const Usage &usage = usages()[device];
    switch (name) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
        return usage.used;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        return usage.used_high;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
        return usage.reserved;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        return usage.reserved_high;
    }
    refuse(CUDA_ERROR_INVALID_VALUE, "Invalid graph allocation attribute: %d",
           static_cast<int>(name));
}

// Recorded: managed memory of a device can be asked for, and is pinned memory. There is no other.
void check_pool(const CUmemPoolProps &pool) {
    const PoolPlace place = checked_place(pool);
    require(place.where == location::device, CUDA_ERROR_NOT_SUPPORTED);
    require(pool.handleTypes == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
}

void check_access(const CUmemAccessDesc *access, std::size_t count) {
    require(count == 0 || access != nullptr);
    require(count <= static_cast<std::size_t>(device_count()));
    for (std::size_t i = 0; i < count; ++i) {
        const int where = static_cast<int>(access[i].location.type);
        require(where >= location::device && where <= location::host_numa);
        if (where == location::device) {
            static_cast<void>(visible_device(access[i].location));
        }
        require(access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ, CUDA_ERROR_NOT_SUPPORTED);
        require(access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
}

} // namespace

GraphAllocation::GraphAllocation(int its_device, std::size_t its_size)
    : device(its_device), size(its_size) {
    Range &range = allocate(Memory::device, device, size, nullptr, false);
    usages()[device]; // exists as long as it counts memory
    range.usable = false;
    range.counted = false;
    address = static_cast<CUdeviceptr>(range.base);
    allocations()[address] = this;
}

GraphAllocation::~GraphAllocation() {
    end_all_uses();
    forget_executable();
    allocations().erase(address);
    if (Range *range = range_of(*this)) {
        AddressSpace::get().remove(*range);
    }
}

void GraphAllocation::set_outstanding(bool on) {
    const auto keep = weak_.lock(); // keeps this object alive until the return
    if (outstanding() && !on) {
        forget_executable(); // another call frees it
    }
    self_ = on ? keep : nullptr;
    escaped = escaped || on;
    if (Range *range = range_of(*this)) {
        range->counted = on;
    }
}

void GraphAllocation::reserve(KeptMemory *executable) {
    Kept::remove(*this);
    if (executable != nullptr) {
        executable->allocations.add(*this);
    }
    ++reserved_;
    count();
}

void GraphAllocation::trim() noexcept {
    if (reserved_ == 0) {
        forget_executable();
    }
}

void GraphAllocation::forget_executable() noexcept {
    Kept::remove(*this);
    count();
}

// Counts it as used memory of its device, or no longer.
void GraphAllocation::count() noexcept {
    const bool kept = Kept::contains(*this);
    Idle::remove(*this);
    const auto own = usages().find(device);
    if (own == usages().end()) {
        return;
    }
    Usage &usage = own->second;
    if (kept && reserved_ == 0) {
        usage.idle.add(*this);
    }
    if (const bool used = kept || reserved_ != 0; used != counted_) {
        counted_ = used;
        usage.used += used ? size : -size;
    }
}

KeptMemory::~KeptMemory() {
    while (GraphAllocation *first = allocations.first()) {
        first->forget_executable();
    }
}

void GraphAllocation::begin_use() {
    if (Range *range = range_of(*this)) {
        range->usable = true;
    }
}

void GraphAllocation::end_use() {
    reserved_ -= reserved_ != 0 ? 1 : 0;
    count();
    if (Range *range = range_of(*this)) {
        range->usable = false;
    }
}

void GraphAllocation::end_all_uses() {
    while (reserved_ != 0) {
        end_use();
    }
}

std::shared_ptr<GraphAllocation> make_allocation(int device, std::size_t size) {
    auto allocation = std::make_shared<GraphAllocation>(device, size);
    allocation->weak_ = allocation;
    return allocation;
}

std::shared_ptr<GraphAllocation> find_allocation(CUdeviceptr address) noexcept {
    const auto found = allocations().find(address);
    return found == allocations().end() ? nullptr : found->second->shared();
}

Work allocation_work(std::shared_ptr<GraphAllocation> allocation) {
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    work.what = "memory allocation node";
    work.uses = {{allocation->address, allocation->size}};
    work.run = [allocation](Stream &) { allocation->begin_use(); };
    return work;
}

Work free_work(std::shared_ptr<GraphAllocation> allocation, const char *what) {
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    work.what = what;
    work.parameters = allocation->address;
    work.uses = {{allocation->address, allocation->size}};
    work.run = [allocation](Stream &) { allocation->end_use(); };
    work.otherwise = [allocation](Stream &, CUresult) { allocation->end_use(); };
    return work;
}

NodeContent allocation_node(Graph &graph, const CUDA_MEM_ALLOC_NODE_PARAMS &parameters) {
    check_pool(parameters.poolProps);
    require(parameters.bytesize != 0, "bytesize must be non-zero");
    check_access(parameters.accessDescs, parameters.accessDescCount);
    NodeContent content;
    content.allocation = make_allocation(parameters.poolProps.location.id, parameters.bytesize);
    GraphAllocation &allocation = *content.allocation;
    allocation.graph = &graph;
    allocation.access.assign(parameters.accessDescs,
                             parameters.accessDescs + parameters.accessDescCount);
    allocation.parameters = parameters;
    allocation.parameters.accessDescs =
        allocation.access.empty() ? nullptr : allocation.access.data();
    allocation.parameters.dptr = allocation.address;
    content.work = allocation_work(content.allocation);
    return content;
}

NodeContent free_node(Graph &graph, CUdeviceptr address) {
    NodeContent content;
    content.allocation = find_allocation(address);
    if (content.allocation == nullptr) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Virtual address 0x%llx does not refer to an active allocation",
               static_cast<unsigned long long>(address));
    }
    Graph *&freed_in = content.allocation->freed_in;
    // An allocation is freed either by its own graph, once, or by others.
    const bool own = content.allocation->graph == &graph;
    if (own && content.allocation->escaped) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Address 0x%llx is either already freed in a separate graph or the allocation node "
               "was previously instantiated without being freed in the same graph. It is no longer "
               "eligible to be freed in this graph",
               static_cast<unsigned long long>(address));
    }
    require(freed_in == nullptr ||
            (freed_in != &graph && !own && freed_in != content.allocation->graph));
    freed_in = &graph;
    content.work = free_work(content.allocation, "memory free node");
    return content;
}

bool is_graph_memory(CUdeviceptr address) noexcept {
    return allocations().count(address) != 0;
}

Work graph_free_work(CUdeviceptr address, const char *what) {
    const auto allocation = outstanding_allocation(address, what);
    Work work = free_work(allocation, what);
    work.accepted = [allocation] { allocation->set_outstanding(false); };
    return work;
}

void graph_memory_free(CUdeviceptr address) {
    const auto allocation = outstanding_allocation(address, "free");
    wait_until_unused(static_cast<std::uintptr_t>(address));
    require(allocation->outstanding()); // another thread may have freed it meanwhile
    if (const Range *range = range_of(*allocation); range != nullptr && range->pending > 0) {
        misuse("free of graph memory that enqueued work uses: " + range->describe());
    }
    allocation->set_outstanding(false);
    allocation->end_use();
}

CUdeviceptr capture_allocation(Stream &stream, const PoolPlace &pool, std::size_t size) {
    require(stream.capture != nullptr && stream.capture->active(),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = {};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED; // as recorded
    parameters.poolProps.location.type = static_cast<CUmemLocationType>(pool.where);
    parameters.poolProps.location.id = pool.id;
    parameters.bytesize = size;
    NodeContent content = allocation_node(*stream.capture->graph, parameters);
    const CUdeviceptr address = content.allocation->address;
    capture_node(stream, std::move(content));
    return address;
}

void restart_graph_memory() {
    std::vector<std::shared_ptr<GraphAllocation>> kept;
    for (const auto &[address, allocation] : allocations()) {
        kept.push_back(allocation->shared());
    }
    for (const auto &allocation : kept) {
        allocation->set_outstanding(false);
        allocation->end_all_uses();
        allocation->trim();
    }
    kept.clear();
    usages().clear();
}

std::uint64_t graph_memory_attribute(int device, CUgraphMem_attribute name) {
    return rounded(attribute(device, name));
}

void restart_graph_memory_mark(int device, CUgraphMem_attribute name) {
    Usage &usage = usages()[device];
    if (name == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
        usage.used_high = usage.used;
    } else if (name == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
        usage.reserved_high = usage.reserved;
    } else {
        refuse(CUDA_ERROR_INVALID_VALUE, "Memory attribute is read-only");
    }
}

void note_graph_memory_use() {
    for (auto &[device, usage] : usages()) {
        usage.used_high = std::max(usage.used_high, usage.used);
        usage.reserved = std::max(usage.reserved, rounded(usage.used));
        usage.reserved_high = std::max(usage.reserved_high, usage.reserved);
    }
}

void trim_graph_memory(int device) {
    Usage &usage = usages()[device];
    while (GraphAllocation *first = usage.idle.first()) {
        first->trim();
    }
    usage.reserved = rounded(usage.used);
}

} // namespace sim
