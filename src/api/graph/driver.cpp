// Graphs by the driver API: the oldest ABI that does the job.
#include "driver.hpp"

#include <cushim/feature.hpp>
#include <cushim/loader.hpp>

#include <algorithm>
#include <vector>

#include "base/with_memory.hpp"
#include "common_calls.hpp"
#include "relatives.hpp"

namespace cushim::detail {
namespace {

#if CUDA_VERSION >= 12030
static_assert(sizeof(CUgraphEdgeData) == 8);
#else
Error lacks_edge_data() noexcept {
    return Error::requires_newer_headers("CUgraphEdgeData", Version::of(12, 3));
}
#endif

// --- graphs

Result<void> create(CUgraph *graph) noexcept {
    return CUSHIM_DRIVER(cuGraphCreate, graph, 0);
}

Destroyed destroy(CUgraph graph) noexcept {
    const RelativesGuard guard;
    return CUSHIM_DESTROY(cuGraphDestroy, graph, graph);
}

Result<void> clone(CUgraph *clone, CUgraph original) noexcept {
    const RelativesGuard guard;
    return CUSHIM_DRIVER(cuGraphClone, clone, original);
}

Result<void> find_in_clone(CUgraphNode *found, CUgraphNode original, CUgraph clone) noexcept {
    const RelativesGuard guard;
    return CUSHIM_DRIVER(cuGraphNodeFindInClone, found, original, clone);
}

Result<void> destroy_node(CUgraphNode node) noexcept {
    const RelativesGuard guard;
    return CUSHIM_DRIVER(cuGraphDestroyNode, node);
}

// --- nodes that fill something in

Result<void> add_mem_alloc(const NodePlace &place, const MemAllocRequest &request,
                           CUdeviceptr *address) noexcept {
    return with_memory([&]() -> Result<void> {
        std::vector<CUmemAccessDesc> grants;
        for (const AccessGrant &grant : request.grants) {
            grants.push_back(grant.native());
        }
        CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
        parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        parameters.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
        parameters.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, request.device};
        parameters.accessDescs = grants.empty() ? nullptr : grants.data();
        parameters.accessDescCount = grants.size();
        parameters.bytesize = request.bytes;
        CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphAddMemAllocNode, place.node, place.graph,
                                      place.dependencies, place.count, &parameters));
        *address = parameters.dptr;
        return {};
    });
}

Result<void> create_condition([[maybe_unused]] CUgraph graph, [[maybe_unused]] CUcontext context,
                              [[maybe_unused]] unsigned int initial,
                              [[maybe_unused]] bool assign_initial,
                              [[maybe_unused]] unsigned long long *handle) noexcept {
#if CUDA_VERSION >= 12030
    CUgraphConditionalHandle made = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphConditionalHandleCreate, &made, graph, context, initial,
                                  assign_initial ? CU_GRAPH_COND_ASSIGN_DEFAULT : 0));
    *handle = made;
    return {};
#else
    return Error::requires_newer_headers("cuGraphConditionalHandleCreate", Version::of(12, 3));
#endif
}

Result<void> add_raw([[maybe_unused]] const NodePlace &place,
                     [[maybe_unused]] void *parameters) noexcept {
#if CUDA_VERSION >= 12020
    return CUSHIM_DRIVER(cuGraphAddNode_v1, place.node, place.graph, place.dependencies,
                         place.count, static_cast<CUgraphNodeParams *>(parameters));
#else
    return Error::requires_newer_headers("cuGraphAddNode", Version::of(12, 2));
#endif
}

Result<void> add_conditional([[maybe_unused]] const NodePlace &place,
                             [[maybe_unused]] const ConditionalRequest &request,
                             [[maybe_unused]] CUgraph *bodies) noexcept {
#if CUDA_VERSION >= 12030
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.handle = request.handle;
    parameters.conditional.type = static_cast<CUgraphConditionalNodeType>(request.type);
    parameters.conditional.size = request.bodies;
    parameters.conditional.ctx = place.context;
    CUSHIM_TRY_VOID(add_raw(place, &parameters));
    std::copy_n(parameters.conditional.phGraph_out, request.bodies, bodies);
    return {};
#else
    return Error::requires_newer_headers("cuGraphConditionalHandleCreate", Version::of(12, 3));
#endif
}

// --- order

Result<void> add_dependencies(CUgraph graph, const EdgeList &edges) noexcept {
    if (edges.data == nullptr) {
        return CUSHIM_DRIVER(cuGraphAddDependencies_v1, graph, edges.from, edges.to, edges.count);
    }
#if CUDA_VERSION >= 12030
    CUSHIM_TRY(const auto data, native_edges<CUgraphEdgeData>(edges));
    return CUSHIM_DRIVER(cuGraphAddDependencies_v2, graph, edges.from, edges.to, data.get(),
                         edges.count);
#else
    return lacks_edge_data();
#endif
}

Result<void> remove_dependencies(CUgraph graph, const EdgeList &edges) noexcept {
    if (edges.data == nullptr) {
        return CUSHIM_DRIVER(cuGraphRemoveDependencies_v1, graph, edges.from, edges.to,
                             edges.count);
    }
#if CUDA_VERSION >= 12030
    CUSHIM_TRY(const auto data, native_edges<CUgraphEdgeData>(edges));
    return CUSHIM_DRIVER(cuGraphRemoveDependencies_v2, graph, edges.from, edges.to, data.get(),
                         edges.count);
#else
    return lacks_edge_data();
#endif
}

// --- what graphs keep

Result<void> user_object_create(CUuserObject *object, void *user,
                                void (*destroy)(void *)) noexcept {
    return CUSHIM_DRIVER(cuUserObjectCreate, object, user, destroy, 1,
                         CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
}

Result<void> user_object_release(CUuserObject object) noexcept {
    return CUSHIM_DRIVER(cuUserObjectRelease, object, 1);
}

Result<void> user_object_retain(CUgraph graph, CUuserObject object) noexcept {
    return CUSHIM_DRIVER(cuGraphRetainUserObject, graph, object, 1, 0);
}

} // namespace

const GraphApi driver_graphs = {
    .api = Api::driver,
    .read = driver_reading,
    .exec = driver_running,
    .capture = driver_capture,
    .create = create,
    .destroy = destroy,
    .clone = clone,
    .find_in_clone = find_in_clone,
    .destroy_node = destroy_node,
    .calls_of = driver_node_calls,
    .add_mem_alloc = add_mem_alloc,
    .create_condition = create_condition,
    .add_conditional = add_conditional,
    .add_raw = add_raw,
    .add_dependencies = add_dependencies,
    .remove_dependencies = remove_dependencies,
    .user_object_create = user_object_create,
    .user_object_release = user_object_release,
    .user_object_retain = user_object_retain,
};

} // namespace cushim::detail
