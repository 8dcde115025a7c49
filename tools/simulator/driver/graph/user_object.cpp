// User objects: creation, retain and release, by clients and graphs.
#include "engine/user_object.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/graph.hpp"

#include <algorithm>
#include <climits>

namespace sim {
namespace {

CUuserObject_st &user_object(CUuserObject handle) {
    return checked(handle, CUDA_ERROR_INVALID_VALUE);
}

void check_count(unsigned int count) {
    require(count != 0, "count cannot be 0");
    require(count <= static_cast<unsigned int>(INT_MAX));
}

// Takes references from the client. The object is a leak while the client has references.
void take_from_client(CUuserObject_st &object, unsigned int count) {
    if (count > object.owned) {
        misuse("release of " + std::to_string(count) + (count == 1 ? " reference" : " references") +
               " by a client that holds " + std::to_string(object.owned) + ": " +
               object.describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    object.owned -= count;
    object.counted = object.owned != 0;
}

} // namespace

namespace driver {

EXPORT CUresult cuUserObjectCreate(OUT CUuserObject *object_out, void *ptr, CUhostFn destroy,
                                   unsigned int initialRefcount, unsigned int flags) {
    require(object_out != nullptr);
    require(destroy != nullptr, "destroy callback cannot be NULL");
    if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid flags 0x%x", flags);
    }
    require(initialRefcount != 0, "initialRefcount cannot be 0");
    *object_out = Registry::get().make<CUuserObject_st>(ptr, destroy, initialRefcount);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
    check_count(count);
    CUuserObject_st &target = user_object(object);
    target.owned += count;
    target.counted = true;
    add_references(target, count);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
    check_count(count);
    CUuserObject_st &target = user_object(object);
    take_from_client(target, count);
    drop_references(target, count);
    run_user_destructors();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                        unsigned int flags) {
    check_count(count);
    if ((flags & ~static_cast<unsigned int>(CU_GRAPH_USER_OBJECT_MOVE)) != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid flags: 0x%x", flags);
    }
    Graph &owner = graph_of(graph);
    CUuserObject_st &target = user_object(object);
    const bool move = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0;
    if (move) {
        take_from_client(target, count);
    }
    owner.references.add(target, count);
    if (move) {
        drop_references(target, count); // they now belong to the graph
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
    check_count(count);
    Graph &owner = graph_of(graph);
    CUuserObject_st &target = user_object(object);
    const unsigned int held = owner.references.count(target);
    if (count > held) {
        misuse("release of " + std::to_string(count) + (count == 1 ? " reference" : " references") +
               " by a graph that holds " + std::to_string(held) + ": " + owner.describe() + ", " +
               target.describe());
    }
    if (held != 0) {
        owner.references.remove(target, std::min(count, held));
    }
    run_user_destructors();
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
