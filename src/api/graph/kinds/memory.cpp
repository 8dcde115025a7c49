// Allocations of memory, and their ends.
#include <cstdio>

#include "base/explained.hpp"
#include "graph/kind.hpp"
#include "graph/reading.hpp"
#include "memory/memory_state.hpp"

namespace cushim {
namespace detail {
namespace {

static_assert(int(cudaMemLocationTypeDevice) == int(CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(int(cudaMemAccessFlagsProtReadWrite) == int(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(int(cudaMemAllocationTypePinned) == int(CU_MEM_ALLOCATION_TYPE_PINNED));
static_assert(int(cudaMemHandleTypeNone) == int(CU_MEM_HANDLE_TYPE_NONE));

using MemAccess = Both<CUmemAccessDesc, cudaMemAccessDesc>;

Error out_of_memory(const Error &error, const MemAllocNode &node) noexcept {
    const Available available = available_on(Device::from_native(node.device));
    char free[40] = "";
    if (available.free) {
        std::snprintf(free, sizeof free, ", %zu free", *available.free);
    }
    return explained(error, "%zu byte%s requested on device %d%s", node.bytes, plural(node.bytes),
                     node.device, free);
}

struct MemAllocKind : KindDefaults<MemAllocKind> {
    using Node = MemAllocNode;
    static constexpr NodeNames names = {"Graph::add_mem_alloc_node"};
    using Native = Both<CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams>;
    using Add = Both<entry::cuGraphAddMemAllocNode, entry::cudaGraphAddMemAllocNode>;
    using Get = Both<entry::cuGraphMemAllocNodeGetParams, entry::cudaGraphMemAllocNodeGetParams>;

    template <Api api>
    static Result<void> add(const NewNode &place, const MemAllocNode &node) noexcept {
        return with_memory([&]() -> Result<void> {
            std::vector<In<MemAccess, api>> grants;
            for (const AccessGrant &grant : node.grants) {
                const CUmemAccessDesc from = grant.native();
                In<MemAccess, api> &to = grants.emplace_back();
                to.location.type = static_cast<decltype(to.location.type)>(from.location.type);
                to.location.id = from.location.id;
                to.flags = static_cast<decltype(to.flags)>(from.flags);
            }
            In<Native, api> native{};
            auto &pool = native.poolProps; // no handle type is 0
            pool.allocType = static_cast<decltype(pool.allocType)>(CU_MEM_ALLOCATION_TYPE_PINNED);
            pool.location.type =
                static_cast<decltype(pool.location.type)>(CU_MEM_LOCATION_TYPE_DEVICE);
            pool.location.id = node.device;
            native.accessDescs = grants.empty() ? nullptr : grants.data();
            native.accessDescCount = grants.size();
            native.bytesize = node.bytes;
            Result<void> added = place.add_by<In<Add, api>>(&native);
            if (!added && added.error().status() == CUDA_ERROR_OUT_OF_MEMORY) {
                return out_of_memory(added.error(), node);
            }
            *node.address = address_of(native.dptr);
            return added;
        });
    }
};

struct MemFreeKind : KindDefaults<MemFreeKind> {
    using Node = MemFreeNode;
    static constexpr NodeNames names = {"Graph::add_mem_free_node"};

    using Native = Pointer;
    using Add = Both<entry::cuGraphAddMemFreeNode, entry::cudaGraphAddMemFreeNode>;
    using Get = Both<entry::cuGraphMemFreeNodeGetParams, entry::cudaGraphMemFreeNodeGetParams>;

    static Result<bool> check(const MemFreeNode &node) noexcept {
        return node.address != 0 ? Result<bool>(true)
                                 : Error::invalid_argument("the GraphAllocation is empty");
    }
    template <Api api>
    static auto native(const MemFreeNode &node, CUcontext) noexcept {
        return native_pointer<api>(node.address);
    }
};

} // namespace

const NodeKind &kind_of(const MemAllocNode &) noexcept {
    return node_kind<MemAllocKind>;
}
const NodeKind &kind_of(const MemFreeNode &) noexcept {
    return node_kind<MemFreeKind>;
}

} // namespace detail

using namespace detail;

Result<GraphMemory> Graph::add_allocation(const GraphDependencies &dependencies, Device device,
                                          std::size_t count, std::size_t element_size,
                                          std::span<const AccessGrant> grants) noexcept {
    constexpr const char *here = "Graph::add_mem_alloc_node";
    if (count == 0) {
        return named(here, Error::invalid_argument("0 elements requested, minimum 1"));
    }
    if (product_overflows(count, element_size)) {
        return too_many_bytes(count, element_size, here);
    }
    CUdeviceptr address = 0;
    const MemAllocNode parameters = {device.native(), count * element_size, grants, &address};
    return add(dependencies, parameters).transform([&](const GraphNode &node) noexcept {
        return GraphMemory(node, address, count);
    });
}

Result<MemAllocNodeParams> Graph::mem_alloc_params(const GraphNode &node) const noexcept {
    return read_back<MemAllocKind>(
        "Graph::mem_alloc_params", *this, node, GraphNodeType::mem_alloc, [](const auto &native) {
            return MemAllocNodeParams{address_of(native.dptr), native.bytesize,
                                      native.poolProps.location.id};
        });
}

Result<CUdeviceptr> Graph::mem_free_params(const GraphNode &node) const noexcept {
    return read_back<MemFreeKind>("Graph::mem_free_params", *this, node, GraphNodeType::mem_free,
                                  [](auto native) -> CUdeviceptr { return address_of(native); });
}

} // namespace cushim
