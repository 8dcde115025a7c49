// Graphs by the runtime API, with the signatures of the headers' major version.
#include "runtime.hpp"

#include <algorithm>
#include <vector>

#include "base/with_memory.hpp"
#include "common_calls.hpp"
#include "context/requirements.hpp"
#include "relatives.hpp"

namespace cushim::detail {
namespace {

// --- graphs

Result<void> create(CUgraph *graph) noexcept {
    return CUSHIM_RUNTIME(cudaGraphCreate, graph, 0);
}

Destroyed destroy(CUgraph graph) noexcept {
    const RelativesGuard guard;
    return CUSHIM_RUNTIME_DESTROY(cudaGraphDestroy, graph, graph);
}

Result<void> clone(CUgraph *clone, CUgraph original) noexcept {
    const RelativesGuard guard;
    return CUSHIM_RUNTIME(cudaGraphClone, clone, original);
}

Result<void> find_in_clone(CUgraphNode *found, CUgraphNode original, CUgraph clone) noexcept {
    const RelativesGuard guard;
    return CUSHIM_RUNTIME(cudaGraphNodeFindInClone, found, original, clone);
}

Result<void> destroy_node(CUgraphNode node) noexcept {
    const RelativesGuard guard;
    return CUSHIM_RUNTIME(cudaGraphDestroyNode, node);
}

// --- nodes that fill something in

cudaMemAccessDesc native_of(const AccessGrant &grant) noexcept {
    cudaMemAccessDesc native{};
    native.location.type = static_cast<cudaMemLocationType>(grant.native().location.type);
    native.location.id = grant.native().location.id;
    native.flags = static_cast<cudaMemAccessFlags>(grant.native().flags);
    return native;
}
static_assert(int(cudaMemLocationTypeDevice) == int(CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(int(cudaMemAccessFlagsProtReadWrite) == int(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));

Result<void> add_mem_alloc(const NodePlace &place, const MemAllocRequest &request,
                           CUdeviceptr *address) noexcept {
    return with_memory([&]() -> Result<void> {
        std::vector<cudaMemAccessDesc> grants;
        for (const AccessGrant &grant : request.grants) {
            grants.push_back(native_of(grant));
        }
        cudaMemAllocNodeParams parameters{};
        parameters.poolProps.allocType = cudaMemAllocationTypePinned;
        parameters.poolProps.handleTypes = cudaMemHandleTypeNone;
        parameters.poolProps.location.type = cudaMemLocationTypeDevice;
        parameters.poolProps.location.id = request.device;
        parameters.accessDescs = grants.empty() ? nullptr : grants.data();
        parameters.accessDescCount = grants.size();
        parameters.bytesize = request.bytes;
        CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphAddMemAllocNode, place.node, place.graph,
                                       place.dependencies, place.count, &parameters));
        *address = reinterpret_cast<CUdeviceptr>(parameters.dptr);
        return {};
    });
}

// The context is the current one.
Result<void> create_condition([[maybe_unused]] CUgraph graph, CUcontext,
                              [[maybe_unused]] unsigned int initial,
                              [[maybe_unused]] bool assign_initial,
                              [[maybe_unused]] unsigned long long *handle) noexcept {
    constexpr const char *name = "cudaGraphConditionalHandleCreate";
#if CUDART_VERSION >= 12030
    // libcudart may not say that it is the driver.
    CUSHIM_TRY_VOID(require_feature(Feature::graph_conditional_nodes, name));
    cudaGraphConditionalHandle made = 0;
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphConditionalHandleCreate, &made, graph, initial,
                                   assign_initial ? cudaGraphCondAssignDefault : 0));
    *handle = made;
    return {};
#else
    return Error::requires_newer_headers(name, Version::of(12, 3));
#endif
}

Result<void> add_raw([[maybe_unused]] const NodePlace &place,
                     [[maybe_unused]] void *parameters) noexcept {
#if CUDART_VERSION >= 13000
    return CUSHIM_RUNTIME(cudaGraphAddNode, place.node, place.graph, place.dependencies, nullptr,
                          place.count, static_cast<cudaGraphNodeParams *>(parameters));
#elif CUDART_VERSION >= 12020
    return CUSHIM_RUNTIME_NEEDS(Feature::graph_generic_nodes, cudaGraphAddNode, place.node,
                                place.graph, place.dependencies, place.count,
                                static_cast<cudaGraphNodeParams *>(parameters));
#else
    return Error::requires_newer_headers("cudaGraphAddNode", Version::of(12, 2));
#endif
}

Result<void> add_conditional([[maybe_unused]] const NodePlace &place,
                             [[maybe_unused]] const ConditionalRequest &request,
                             [[maybe_unused]] CUgraph *bodies) noexcept {
#if CUDART_VERSION >= 12030
    cudaGraphNodeParams parameters{};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = request.handle;
    parameters.conditional.type = static_cast<cudaGraphConditionalNodeType>(request.type);
    parameters.conditional.size = request.bodies;
    CUSHIM_TRY_VOID(add_raw(place, &parameters));
    std::copy_n(parameters.conditional.phGraph_out, request.bodies, bodies);
    return {};
#else
    return Error::requires_newer_headers("cudaGraphConditionalHandleCreate", Version::of(12, 3));
#endif
}

// --- order

#if CUDART_VERSION < 12030
Error lacks_edge_data() noexcept {
    return Error::requires_newer_headers("cudaGraphEdgeData", Version::of(12, 3));
}
#endif

Result<void> add_dependencies(CUgraph graph, const EdgeList &edges) noexcept {
#if CUDART_VERSION < 13000
    if (edges.data == nullptr) {
        return CUSHIM_RUNTIME(cudaGraphAddDependencies, graph, edges.from, edges.to, edges.count);
    }
#endif
#if CUDART_VERSION >= 12030
    CUSHIM_TRY(const auto data, native_edges<cudaGraphEdgeData>(edges));
    return CUSHIM_RUNTIME_EDGES(cudaGraphAddDependencies, graph, edges.from, edges.to, data.get(),
                                edges.count);
#else
    return lacks_edge_data();
#endif
}

Result<void> remove_dependencies(CUgraph graph, const EdgeList &edges) noexcept {
#if CUDART_VERSION < 13000
    if (edges.data == nullptr) {
        return CUSHIM_RUNTIME(cudaGraphRemoveDependencies, graph, edges.from, edges.to,
                              edges.count);
    }
#endif
#if CUDART_VERSION >= 12030
    CUSHIM_TRY(const auto data, native_edges<cudaGraphEdgeData>(edges));
    return CUSHIM_RUNTIME_EDGES(cudaGraphRemoveDependencies, graph, edges.from, edges.to,
                                data.get(), edges.count);
#else
    return lacks_edge_data();
#endif
}

// --- what graphs keep

Result<void> user_object_create(CUuserObject *object, void *user,
                                void (*destroy)(void *)) noexcept {
    return CUSHIM_RUNTIME(cudaUserObjectCreate, object, user, destroy, 1,
                          cudaUserObjectNoDestructorSync);
}

Result<void> user_object_release(CUuserObject object) noexcept {
    return CUSHIM_RUNTIME(cudaUserObjectRelease, object, 1);
}

Result<void> user_object_retain(CUgraph graph, CUuserObject object) noexcept {
    return CUSHIM_RUNTIME(cudaGraphRetainUserObject, graph, object, 1, 0);
}

} // namespace

const GraphApi runtime_graphs = {
    .api = Api::runtime,
    .read = runtime_reading,
    .exec = runtime_running,
    .capture = runtime_capture,
    .create = create,
    .destroy = destroy,
    .clone = clone,
    .find_in_clone = find_in_clone,
    .destroy_node = destroy_node,
    .calls_of = runtime_node_calls,
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
