#include "runtime/base/failure.hpp"
#include "runtime/base/driver_library.hpp"

namespace sim::runtime {
namespace {

// Driver statuses for which the runtime has another number or no number.
struct Difference {
    int driver;
    int runtime;
};
constexpr Difference differences[] = {
    {202, cudaErrorUnknown}, // CONTEXT_ALREADY_CURRENT: has no runtime error
};

} // namespace

void fail(cudaError_t status, const char *reason) {
    if (const Hooks *hooks = driver_hooks()) {
        hooks->explain(reason);
    }
    fail(status);
}

cudaError_t runtime_status(CUresult status) noexcept {
    for (const Difference &difference : differences) {
        if (difference.driver == static_cast<int>(status)) {
            return static_cast<cudaError_t>(difference.runtime);
        }
    }
    return static_cast<cudaError_t>(status);
}

} // namespace sim::runtime
