#include "memory_state.hpp"

#include <cushim/detail/typed_buffer.hpp>

#include <cstdio>

#include "base/explained.hpp"
#include "base/ranges.hpp"
#include "base/with_memory.hpp"
#include "context/in_context.hpp"
#include "context/stream_context.hpp"

namespace cushim::detail {

Available available_here() noexcept {
    std::size_t free = 0, total = 0;
    if (!call<entry::cuMemGetInfo>(&free, &total)) {
        return {};
    }
    return {free, {}};
}

Available available_to(const Stream &stream) noexcept {
    Available available;
    (void)in_context_of(stream, [&]() -> Result<void> {
        available = available_here();
        return {};
    });
    return available;
}

Available available_on(Device device) noexcept {
    unsigned int flags = 0;
    int active = 0;
    if (!call<entry::cuDevicePrimaryCtxGetState>(device.native(), &flags, &active) || active == 0) {
        return {};
    }
    const Result<MemoryInfo> info = device.memory_info();
    return info ? Available{info->free, {}} : Available();
}

Result<void> try_allocation(void (*function)(void *), void *argument) noexcept {
    return with_memory([&]() -> Result<void> {
        function(argument);
        return {};
    });
}

Error not_allocated(const Error &error, std::size_t bytes, const Available &available) noexcept {
    char free[40] = "", used[60] = "";
    if (available.free) {
        std::snprintf(free, sizeof free, ", %zu free", *available.free);
    }
    if (available.used_from_pool) {
        std::snprintf(used, sizeof used, ", %zu byte%s of the pool in use",
                      *available.used_from_pool, plural(*available.used_from_pool));
    }
    return explained(error, "%zu byte%s requested%s%s", bytes, plural(bytes), free, used);
}

} // namespace cushim::detail
