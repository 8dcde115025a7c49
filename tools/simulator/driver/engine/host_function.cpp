#include "engine/host_function.hpp"
#include "base/refusal.hpp"

namespace sim {

Work host_work(CUhostFn function, void *user, const char *what) {
    require(function != nullptr);
    CUDA_HOST_NODE_PARAMS parameters{};
    parameters.fn = function;
    parameters.userData = user;
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_HOST;
    work.what = what;
    work.parameters = parameters;
    work.run = [function, user](CUstream_st &) {
        const HostFunctionScope scope;
        function(user);
    };
    return work;
}

} // namespace sim
