#include "soak.hpp"

#include <cushim/device_buffer.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace gpu_test {

using namespace cushim;

namespace {

Result<void> leak_allocation(const Context &) {
    static std::atomic<char *> last; // otherwise compilers remove the allocation
    last = new char[1024];
    return {};
}

Result<void> leak_descriptor(const Context &) {
    (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    return {};
}

// Memory from malloc, written to, and more than a driver keeps for each round.
Result<void> leak_host_memory(const Context &) {
    constexpr std::size_t size = 1 << 20;
    static std::atomic<void *> last;
    void *const memory = std::malloc(size);
    if (memory != nullptr) {
        std::memset(memory, 1, size);
    }
    last = memory;
    return {};
}

Result<void> leak_memory(const Context &context) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<char>::allocate(context, 16 << 20));
    (void)buffer.release();
    return {};
}

Result<void> leak_thread(const Context &) {
    std::thread([] {
        for (;;) {
            pause();
        }
    }).detach();
    return {};
}

struct Leak {
    std::string_view name;
    const char *finding;
    Result<void> (*once)(const Context &context);
};
constexpr Leak leaks[] = {
    {"allocation", "bytes by operator new", leak_allocation},
    {"descriptor", "open descriptors", leak_descriptor},
    {"host", "host memory", leak_host_memory},
    {"memory", "bytes of device ", leak_memory},
    {"thread", "threads", leak_thread},
};

const Leak *find(std::string_view name) {
    for (const Leak &leak : leaks) {
        if (leak.name == name) {
            return &leak;
        }
    }
    return nullptr;
}

} // namespace

const char *finding_of_leak(std::string_view name) {
    const Leak *const leak = find(name);
    return leak != nullptr ? leak->finding : nullptr;
}

std::string names_of_leaks() {
    std::string names;
    for (const Leak &leak : leaks) {
        names += names.empty() ? "" : "|";
        names += leak.name;
    }
    return names;
}

Result<void> leave_behind(std::string_view name, const Context &context) {
    const Leak *const leak = find(name);
    return leak != nullptr ? leak->once(context) : Result<void>();
}

} // namespace gpu_test
