// Memory of one device that the others use: by peer access, pools and mappings, with kernels and
// with the copies of both APIs.
#include "harness/devices.hpp"
#include "harness/memory.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pool_buffer.hpp>

#include <algorithm>

using namespace api_test;
using namespace cushim;

namespace {

using Words = DeviceBuffer<int>;

constexpr std::size_t count = 10'000;

std::vector<int> filled(int value) {
    return std::vector<int>(count, value);
}

} // namespace

// --- copies by both APIs

namespace {

struct Side {
    const Worker &worker;
    Words &memory;
};
struct PeerCopy {
    const char *name;
    bool by_runtime;
    // In `stream`, which is of one of the two devices.
    void (*run)(const Side &to, const Side &from, const Stream &stream);
};

constexpr std::size_t bytes = count * sizeof(int);

constexpr PeerCopy peer_copies[] = {
    {"cuMemcpyPeer", false,
     [](const Side &to, const Side &from, const Stream &) {
         ok(driver().cuMemcpyPeer(to.memory.native(), to.worker.context.native(),
                                  from.memory.native(), from.worker.context.native(), bytes));
         ok(to.worker.context.synchronize()); // copies between devices may return early
         ok(from.worker.context.synchronize());
     }},
    {"cuMemcpyPeerAsync", false,
     [](const Side &to, const Side &from, const Stream &stream) {
         ok(driver().cuMemcpyPeerAsync(to.memory.native(), to.worker.context.native(),
                                       from.memory.native(), from.worker.context.native(), bytes,
                                       stream.native()));
     }},
    {"cudaMemcpyPeer", true,
     [](const Side &to, const Side &from, const Stream &) {
         ok(runtime().cudaMemcpyPeer(to.memory.data(), to.worker.device.native(),
                                     from.memory.data(), from.worker.device.native(), bytes));
         ok(to.worker.context.synchronize());
         ok(from.worker.context.synchronize());
     }},
    {"cudaMemcpyPeerAsync", true,
     [](const Side &to, const Side &from, const Stream &stream) {
         ok(runtime().cudaMemcpyPeerAsync(to.memory.data(), to.worker.device.native(),
                                          from.memory.data(), from.worker.device.native(), bytes,
                                          stream.native()));
     }},
};

void check_peer_copies(const Workers &made, bool by_runtime) {
    const auto values = numbers(count);
    made.each_pair([&](const Worker &from, const Worker &to) {
        auto source = ok(Words::copy_of(from.context, values));
        auto target = ok(Words::allocate(to.context, count));
        for (const PeerCopy &each : peer_copies) {
            if (each.by_runtime != by_runtime) {
                continue;
            }
            for (const Worker *by : {&from, &to}) {
                INFO(each.name << " in a stream of device " << by->device.native());
                const ContextScope scope = ok(by->context.enter());
                ok(fill(to.context, target.span(), -1));
                each.run({to, target}, {from, source}, by->stream);
                ok(by->stream.synchronize());
                CHECK(ok(to.read(target.span())) == values);
            }
        }
    });
    CHECK(misuses().empty());
}

} // namespace

TEST_CASE("the driver copies between every pair of devices", "[several_devices][copy]") {
    check_peer_copies(many_workers(), false);
}

TEST_CASE("the runtime copies between every pair of devices",
          "[several_devices][copy][runtime][current]") {
    check_peer_copies(many_workers(), true);
}

// --- peer access

TEST_CASE("every pair of devices has the peer access that can_access() reports",
          "[several_devices][context]") {
    const Workers made = many_workers();
    made.each_pair([](const Worker &here, const Worker &there) {
        const bool possible = ok(here.device.can_access(there.device));
        CHECK(ok(here.device.peer_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
                                            there.device)) == (possible ? 1 : 0));
        const Result<void> enabled = here.context.enable_peer_access(there.context);
        INFO((enabled ? "" : enabled.error().message()));
        CHECK(enabled.has_value() == possible);
        if (enabled) {
            CHECK(error_of(here.context.enable_peer_access(there.context)).status() ==
                  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
            CHECK(here.context.disable_peer_access(there.context));
            CHECK(error_of(here.context.disable_peer_access(there.context)).status() ==
                  CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        }
    });
    CHECK(misuses().empty());
}

TEST_CASE("kernels of every device use the memory of all others at the same time",
          "[several_devices][context]") {
    const Workers made = workers_with_access();
    made.each_pair_with_access([](const Worker &here, const Worker &there) {
        ok(here.context.enable_peer_access(there.context));
    });
    // Part u of each device's memory is written by device u.
    std::vector<Words> memory;
    for (const Worker &worker : made.all) {
        memory.push_back(ok(Words::allocate(worker.context, made.all.size() * count)));
        ok(fill(worker.context, memory.back().span(), -1));
    }
    const auto part = [&](const Worker &owner, const Worker &user) {
        const auto all = memory[static_cast<std::size_t>(owner.device.native())].span();
        return ok(all.subspan(static_cast<std::size_t>(user.device.native()) * count, count));
    };
    made.each_pair_with_access([&](const Worker &user, const Worker &owner) {
        const auto kernel = ok(user.code.kernel<Fill>("fill"));
        const auto size = static_cast<unsigned int>(count);
        ok(kernel.launch(user.stream, LaunchConfig::covering(size), part(owner, user),
                         500 + user.device.native(), size));
    });
    for (const Worker &worker : made.all) {
        ok(worker.stream.synchronize());
    }
    made.each_pair_with_access([&](const Worker &user, const Worker &owner) {
        CHECK(ok(owner.read(part(owner, user))) == filled(500 + user.device.native()));
    });
    made.each_pair_with_access([](const Worker &here, const Worker &there) {
        ok(here.context.disable_peer_access(there.context));
    });
    CHECK(misuses().empty());
}

// --- pools

TEST_CASE("every device with access uses a pool of every other", "[several_devices][pool]") {
    const Workers made = workers_with_access();
    made.each_pair_with_access([](const Worker &user, const Worker &owner) {
        const MemoryPool pool = ok(MemoryPool::create(owner.device));
        auto before = ok(PoolBuffer<int>::allocate(pool, owner.stream, count));
        CHECK(ok(pool.get_access(user.device)) == AccessFlags::none);
        ok(pool.set_access({user.device, AccessFlags::read_write}));
        CHECK(ok(pool.get_access(user.device)) == AccessFlags::read_write);
        auto after = ok(PoolBuffer<int>::allocate(pool, owner.stream, count));
        ok(owner.stream.synchronize());
        for (auto *buffer : {&before, &after}) {
            ok(user.fill(buffer->span(), 31));
            CHECK(ok(owner.read(buffer->span())) == filled(31));
            ok(owner.fill(buffer->span(), 32));
            CHECK(ok(user.read(buffer->span())) == filled(32));
        }
    });
    CHECK(misuses().empty());
}

TEST_CASE("a pool grants access to all devices in one call", "[several_devices][pool]") {
    const auto [devices, all] = workers_with_access();
    for (const Worker &owner : all) {
        INFO("pool of device " << owner.device.native());
        const MemoryPool pool = ok(MemoryPool::create(owner.device));
        ok(pool.set_access(grants_for(devices, owner.device)));
        auto buffer = ok(PoolBuffer<int>::allocate(pool, owner.stream, count));
        ok(owner.stream.synchronize());
        for (const Worker &user : all) {
            if (is_accessible(user.device, owner.device)) {
                INFO("used by device " << user.device.native());
                ok(user.fill(buffer.span(), user.device.native()));
                CHECK(ok(owner.read(buffer.span())) == filled(user.device.native()));
            }
        }
    }
    CHECK(misuses().empty());
}

// --- mappings

TEST_CASE("one address range has memory of all devices", "[several_devices][virtual_memory]") {
    const auto [devices, all] = workers_with_access();
    // Devices that can access each other's memory, beginning with the first.
    std::vector<Device> group;
    for (const Device device : devices) {
        bool fits = true;
        for (const Device member : group) {
            fits = fits && is_accessible(device, member) && is_accessible(member, device);
        }
        if (fits) {
            group.push_back(device);
        }
    }
    if (group.size() < 2) {
        SKIP("no two devices of this machine can access each other's memory");
    }
    std::size_t size = 0;
    for (const Device device : group) {
        size = std::max(size, ok(Granularity::of(device)).recommended);
    }
    const auto range = ok(AddressRange::reserve(group[0], size * group.size()));
    std::vector<MappedRange> parts;
    for (std::size_t index = 0; index < group.size(); ++index) {
        parts.push_back(
            ok(MappedRange::map(range, index * size, ok(PhysicalMemory::create(group[index], size)),
                                grants_for(group, group[index]))));
    }
    const DeviceSpan<int> whole(range.native(), size * group.size() / sizeof(int));
    for (const Device device : group) {
        const Worker &worker = all[static_cast<std::size_t>(device.native())];
        INFO("written by device " << device.native());
        ok(worker.fill(whole, 60 + device.native()));
        for (const Device reader : group) {
            INFO("read by device " << reader.native());
            CHECK(ok(all[static_cast<std::size_t>(reader.native())].read(whole)) ==
                  std::vector<int>(whole.size(), 60 + device.native()));
        }
    }
    CHECK(misuses().empty());
}

TEST_CASE("devices get and lose access to a growing buffer", "[several_devices][growable_buffer]") {
    const Workers made = workers_with_access();
    made.each_pair_with_access([](const Worker &user, const Worker &owner) {
        constexpr std::size_t step = 1 << 19; // elements
        auto buffer = ok(GrowableBuffer<int>::create(owner.device, 4 * step));
        ok(buffer.resize(step));
        ok(owner.fill(buffer.span(), 1));
        CHECK(ok(buffer.get_access(user.device)) == AccessFlags::none);
        CHECK_FALSE(user.read(buffer.span()).has_value());
        ok(buffer.set_access({user.device, AccessFlags::read_write}));
        ok(buffer.resize(2 * step));
        ok(user.fill(buffer.span(), 2));
        CHECK(ok(owner.read(buffer.span())) == std::vector<int>(2 * step, 2));
        ok(buffer.set_access({user.device, AccessFlags::none}));
        ok(buffer.resize(3 * step));
        CHECK(ok(buffer.get_access(user.device)) == AccessFlags::none);
        CHECK_FALSE(user.read(buffer.span()).has_value());
        ok(owner.fill(buffer.span(), 3));
        CHECK(ok(owner.read(buffer.span())) == std::vector<int>(3 * step, 3));
    });
    CHECK(misuses().empty());
}

// --- managed memory

TEST_CASE("managed memory moves from device to device", "[several_devices][managed]") {
    const auto [devices, all] = many_workers();
    for (const Device device : devices) {
        if (ok(device.attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) == 0) {
            SKIP("a device cannot use managed memory beside the host");
        }
    }
    auto memory = ok(ManagedBuffer<int>::allocate(all[0].context, count));
    const DeviceSpan<int> span(memory.native(), count);
    for (int round = 0; round < 3; ++round) {
        for (const Worker &worker : all) {
            INFO("device " << worker.device.native());
            const int value = 10 * round + worker.device.native();
            ok(memory.prefetch(worker.stream, worker.device));
            ok(worker.fill(span, value));
            for (const Worker &reader : all) {
                CHECK(ok(reader.read(span)) == filled(value));
            }
        }
    }
    CHECK(misuses().empty());
}
