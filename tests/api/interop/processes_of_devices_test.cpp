// One process per device, each with the memory of its neighbour or of all others: a ring by IPC
// handles and events, and writes into the mapped memory of every device. The other processes are
// this program with one hidden test case.
#include "harness/devices.hpp"
#include "harness/memory.hpp"
#include "support/child_process.hpp"

#include <cushim/ipc.hpp>
#include <cushim/virtual_memory.hpp>

#include <memory>

using namespace api_test;
using namespace cushim;
using support::Channel;
using support::Child;

namespace {

constexpr std::size_t count = 100'000;

using Children = std::vector<std::unique_ptr<Child>>;

// A child for each device, which receives its device and the number of devices. The parent makes no
// context.
Children start_children(const std::vector<Device> &devices, const char *test_case) {
    Children children;
    for (const Device device : devices) {
        children.push_back(std::make_unique<Child>(test_case, many_devices()));
        children.back()->channel().send(device.native());
        children.back()->channel().send(static_cast<int>(devices.size()));
    }
    return children;
}

// Waits until all children have arrived, then releases them.
void meet(const Children &children) {
    for (const auto &child : children) {
        child->channel().await();
    }
    for (const auto &child : children) {
        child->channel().signal();
    }
}
void meet_others(Channel &parent) {
    parent.signal();
    parent.await();
}

void check_passed(const Children &children) {
    for (std::size_t index = 0; index < children.size(); ++index) {
        INFO("device " << index);
        CHECK(children[index]->passed());
    }
}

std::vector<Device> devices_now() {
    restart(many_devices());
    return need_devices(2);
}

void need_all_access(const std::vector<Device> &devices, bool only_neighbours) {
    for (std::size_t from = 0; from < devices.size(); ++from) {
        for (std::size_t to = 0; to < devices.size(); ++to) {
            const bool needed = !only_neighbours || (to + 1) % devices.size() == from;
            if (needed && !is_accessible(devices[from], devices[to])) {
                SKIP("device " << from << " cannot access the memory of device " << to);
            }
        }
    }
}

// What a process of the ring sends to the next one.
struct RingMessage {
    IpcExport::Bytes memory;
    IpcEventHandle event;
};

// The numbers that start at a device.
std::vector<int> values_of(int device) {
    std::vector<int> values = numbers(count);
    for (int &value : values) {
        value += 1'000'000 * (device + 1);
    }
    return values;
}

} // namespace

// Each process copies from its neighbour what that received in the step before, so that after as
// many steps as there are devices each has its own values again.
TEST_CASE("data goes round a ring of processes, one for each device",
          "[several_devices][processes][ipc]") {
    const auto devices = devices_now();
    need_all_access(devices, true);
    const Children children = start_children(devices, "child: is one of a ring");
    for (std::size_t index = 0; index < children.size(); ++index) {
        const auto message = children[index]->channel().receive<RingMessage>();
        children[(index + 1) % children.size()]->channel().send(message);
    }
    for (std::size_t step = 0; step <= devices.size(); ++step) {
        meet(children);
    }
    meet(children); // all have closed what they opened
    check_passed(children);
}

TEST_CASE("child: is one of a ring", "[.]") {
    Channel parent = Channel::of_parent();
    const auto own = parent.receive<CUdevice>();
    const int steps = parent.receive<int>();
    const Worker worker = ok(Worker::on(ok(Device::get(own))));
    const auto slots = static_cast<std::size_t>(steps) + 1;
    auto memory = ok(DeviceBuffer<int>::allocate(worker.context, slots * count));
    const auto slot = [](DeviceSpan<int> all, int number) {
        return ok(all.subspan(static_cast<std::size_t>(number) * count, count));
    };
    const Event written = ok(Event::interprocess(worker.context));
    parent.send(RingMessage{ok(IpcExport::of(worker.context, memory.span())).bytes(),
                            ok(export_event(worker.context, written))});
    const auto message = parent.receive<RingMessage>();
    auto opened = ok(IpcMemory::open(worker.context, ok(IpcExport::from_bytes(message.memory))));
    const Event written_there = ok(open_event(worker.context, message.event));
    const auto there = ok(opened.as<int>());
    REQUIRE(there.size() == slots * count);

    ok(copy(worker.context, slot(memory.span(), 0), values_of(own)));
    ok(written.record(worker.stream));
    meet_others(parent); // the event of each step has been recorded
    for (int step = 1; step <= steps; ++step) {
        ok(worker.stream.wait_event(written_there));
        ok(copy(worker.stream, slot(memory.span(), step), slot(there, step - 1)));
        ok(written.record(worker.stream));
        meet_others(parent);
    }
    ok(worker.stream.synchronize());
    for (int step = 0; step <= steps; ++step) {
        INFO("device " << own << ", step " << step);
        CHECK(ok(worker.read(slot(memory.span(), step))) ==
              values_of((own + steps - step) % steps));
    }
    ok(opened.close());
    meet_others(parent);
    CHECK(misuses().empty());
}

// --- mapped memory of all devices

namespace {

constexpr PhysicalMemoryOptions shareable{.exportable = {.posix_fd = true}};

MappedRange map_for(const Worker &worker, const PhysicalMemory &memory) {
    const auto range = ok(AddressRange::reserve(worker.device, memory.size()));
    return ok(
        MappedRange::map(range, 0, memory, AccessGrant(worker.device, AccessFlags::read_write)));
}

} // namespace

TEST_CASE("a process for each device writes into the memory of every device",
          "[several_devices][processes][virtual_memory]") {
    const auto devices = devices_now();
    need_all_access(devices, false);
    const Children children = start_children(devices, "child: writes to all devices");
    for (const auto &owner : children) {
        const auto size = owner->channel().receive<std::size_t>();
        const UniqueFd fd(owner->channel().receive_fd());
        for (const auto &user : children) {
            user->channel().send(size);
            user->channel().send_fd(fd.get());
        }
    }
    meet(children); // all have written
    meet(children); // all have read
    check_passed(children);
}

TEST_CASE("child: writes to all devices", "[.]") {
    Channel parent = Channel::of_parent();
    const auto own = parent.receive<CUdevice>();
    const auto all = static_cast<std::size_t>(parent.receive<int>());
    const Worker worker = ok(Worker::on(ok(Device::get(own))));
    const auto granularity = ok(Granularity::of(worker.device, shareable));
    const std::size_t size = ok(granularity.round_up(all * count * sizeof(int)));
    const auto memory = ok(PhysicalMemory::create(worker.device, size, shareable));
    parent.send(size);
    {
        const UniqueFd fd = ok(memory.export_fd());
        parent.send_fd(fd.get());
    }
    const auto part_of = [](const MappedRange &mapped, std::size_t user) {
        return DeviceSpan<int>(mapped.native() + user * count * sizeof(int), count);
    };
    std::vector<MappedRange> mapped;
    for (std::size_t owner = 0; owner < all; ++owner) {
        const auto size_there = parent.receive<std::size_t>();
        const UniqueFd fd(parent.receive_fd());
        const auto there = ok(PhysicalMemory::import_fd(fd.get(), size_there));
        CHECK(ok(there.properties()).device == static_cast<CUdevice>(owner));
        mapped.push_back(map_for(worker, there));
        const int value = 100 * static_cast<int>(owner) + own;
        ok(worker.fill(part_of(mapped.back(), static_cast<std::size_t>(own)), value));
    }
    meet_others(parent);
    for (std::size_t owner = 0; owner < all; ++owner) {
        for (std::size_t user = 0; user < all; ++user) {
            INFO("memory of device " << owner << ", written by device " << user);
            CHECK(ok(worker.read(part_of(mapped[owner], user))) ==
                  std::vector<int>(count, static_cast<int>(100 * owner + user)));
        }
    }
    meet_others(parent);
    CHECK(misuses().empty());
}
