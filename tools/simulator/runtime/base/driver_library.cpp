#include "runtime/base/driver_library.hpp"
#include "runtime/base/locks.hpp"
#include "runtime/base/platform.hpp"

#include <atomic>
#include <mutex>

namespace sim {

extern const Row runtime_rows[];
extern const unsigned int runtime_row_count;

} // namespace sim

namespace sim::runtime {
namespace {

struct Driver {
    void *library;
    const Hooks *hooks;
};

std::atomic<const Driver *> found{nullptr};

const Hooks *hooks_of(void *library) noexcept {
    const auto function =
        reinterpret_cast<HooksFunction>(platform::find_function(library, hooks_name));
    const Hooks *hooks = function ? function() : nullptr;
    return hooks && hooks->interface == Hooks::current_interface ? hooks : nullptr;
}

// Only success is cached, so that a driver which is loaded later is found later.
const Driver *driver() noexcept {
    if (const Driver *known = found.load(std::memory_order_acquire)) {
        return known;
    }
    const std::lock_guard<std::mutex> held(locks().search);
    if (const Driver *known = found.load(std::memory_order_acquire)) {
        return known;
    }
    void *library = platform::find_driver();
    const Hooks *hooks = library ? hooks_of(library) : nullptr;
    if (hooks == nullptr) {
        return nullptr;
    }
    static Driver storage;
    storage = {library, hooks};
    platform::stay_loaded(); // the driver keeps pointers to the rows
    hooks->add_rows(runtime_rows, runtime_row_count);
    precede_driver_at_fork();
    found.store(&storage, std::memory_order_release);
    return &storage;
}

} // namespace

void *driver_function(const char *name) noexcept {
    const Driver *known = driver();
    return known ? platform::find_function(known->library, name) : nullptr;
}

bool has_driver() noexcept {
    return driver() != nullptr;
}

const Hooks *driver_hooks() noexcept {
    const Driver *known = driver();
    return known ? known->hooks : nullptr;
}

std::uint64_t epoch() noexcept {
    const Hooks *hooks = driver_hooks();
    return hooks ? hooks->epoch() : 0;
}

} // namespace sim::runtime
