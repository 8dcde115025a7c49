// User objects: resources that graphs keep alive.
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
                                 unsigned int initialRefcount, unsigned int flags) {
    return CU(cuUserObjectCreate)(object_out, ptr, destroy, initialRefcount, flags);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
    return CU(cuUserObjectRetain)(object, count);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
    return CU(cuUserObjectRelease)(object, count);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                      unsigned int count, unsigned int flags) {
    return CU(cuGraphRetainUserObject)(graph, object, count, flags);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                       unsigned int count) {
    return CU(cuGraphReleaseUserObject)(graph, object, count);
}

} // namespace sim::runtime
