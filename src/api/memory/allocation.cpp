#include "allocation.hpp"

#include <cstdio>

#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "context/stream_context.hpp"

namespace cushim::detail {

Available available_here() noexcept {
    std::size_t free = 0, total = 0;
    if (driver().cuMemGetInfo(&free, &total) != CUDA_SUCCESS) {
        return {};
    }
    return {free, {}};
}

Available available_to(const Stream &stream) noexcept {
    Available available;
    (void)in_context_of(stream, nullptr, [&]() -> Result<void> {
        available = available_here();
        return {};
    });
    return available;
}

Available available_on(Device device) noexcept {
    unsigned int flags = 0;
    int active = 0;
    if (driver().cuDevicePrimaryCtxGetState(device.native(), &flags, &active) != CUDA_SUCCESS ||
        active == 0) {
        return {};
    }
    const Result<MemoryInfo> info = device.memory_info();
    return info ? Available{info->free, {}} : Available();
}

Error allocation_failure(const AllocationCall &call, std::size_t bytes,
                         const Available &available) noexcept {
    char free[40] = "", used[60] = "", text[160];
    if (available.free) {
        std::snprintf(free, sizeof free, ", %zu free", *available.free);
    }
    if (available.used_from_pool) {
        std::snprintf(used, sizeof used, ", %zu byte%s of the pool in use",
                      *available.used_from_pool, plural(*available.used_from_pool));
    }
    std::snprintf(text, sizeof text, "%zu byte%s requested%s%s", bytes, plural(bytes), free, used);
    return named(Error::status(Api::driver, call.status, call.entry_point, text), call.in);
}

} // namespace cushim::detail
