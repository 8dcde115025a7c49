// Processes that work on different devices, and share memory: by IPC handles, by descriptors, by
// pools. The second process is this program again, with one hidden test case.
#include "harness/devices.hpp"

#ifndef _WIN32

#include "support/child_process.hpp"

#include <unistd.h>

using namespace api_test;
using namespace cushim;
using support::Channel;
using support::Child;
using support::ok;

namespace {

constexpr const char *three_devices = "devices=3";
constexpr std::size_t count = 20'000;

// What the child works with: its device, and where the memory lies.
struct Task {
    CUdevice here = 0;
    CUdevice memory = 0;
};

Worker worker_on(CUdevice ordinal) {
    return ok(Worker::on(ok(Device::get(ordinal))));
}

// Every device with the next one, for those that reach each other.
std::vector<Task> pairs(const std::vector<Device> &devices) {
    std::vector<Task> all;
    for (std::size_t index = 0; index < devices.size(); ++index) {
        const Device memory = devices[index], here = devices[(index + 1) % devices.size()];
        if (ok(here.can_access(memory))) {
            all.push_back({here.native(), memory.native()});
        }
    }
    if (all.empty()) {
        SKIP("no device of this machine can reach another's memory");
    }
    return all;
}

std::vector<int> filled(int value) {
    return std::vector<int>(count, value);
}

} // namespace

// --- IPC

TEST_CASE("a process on one device opens memory and events of a process on another",
          "[device_processes][ipc]") {
    restart(three_devices);
    for (const Task &task : pairs(need_devices(2))) {
        INFO("device " << task.here << " opens memory of device " << task.memory);
        const Worker worker = worker_on(task.memory);
        const auto buffer = ok(DeviceBuffer<int>::allocate(worker.context, count));
        const Event filled_here = ok(Event::interprocess(worker.context));
        ok(fill(worker.stream, buffer.span(), 1));
        ok(filled_here.record(worker.stream));
        Child child("child: opens memory of another device", three_devices);
        child.channel().send(task);
        child.channel().send(ok(IpcExport::of(worker.context, buffer.span())).bytes());
        child.channel().send(ok(export_event(worker.context, filled_here)));
        child.channel().await(); // it has written
        CHECK(ok(worker.read(buffer.span())) == filled(2));
        child.channel().signal();
        CHECK(child.passed());
    }
}

TEST_CASE("child: opens memory of another device", "[.]") {
    Channel parent = Channel::of_parent();
    const auto task = parent.receive<Task>();
    const Worker worker = worker_on(task.here);
    const auto bytes = parent.receive<IpcExport::Bytes>();
    const auto exported = ok(IpcExport::from_bytes(bytes));
    const auto handle = parent.receive<IpcEventHandle>();
    const Event filled_there = ok(open_event(worker.context, handle));
    auto memory = ok(IpcMemory::open(worker.context, exported));
    ok(worker.stream.wait_event(filled_there));
    ok(worker.stream.synchronize());
    CHECK(ok(worker.read(ok(memory.as<int>()))) == filled(1));
    ok(worker.fill(ok(memory.as<int>()), 2)); // the opening lets this device in
    CHECK(ok(worker.read(ok(memory.as<int>()))) == filled(2));
    parent.signal();
    parent.await();
    ok(memory.close());
}

// --- virtual memory

namespace {

constexpr PhysicalMemoryOptions shareable{.exportable = {.posix_fd = true}};

struct Shared {
    PhysicalMemory memory;
    MappedRange mapped;

    DeviceSpan<int> words() const { return {mapped.native(), count}; }
};

MappedRange map_for(const PhysicalMemory &memory, std::span<const AccessGrant> grants) {
    const auto range = ok(AddressRange::reserve(ok(Device::get(0)), memory.size()));
    return ok(MappedRange::map(range, 0, memory, grants));
}
MappedRange map_for(const PhysicalMemory &memory, const AccessGrant &grant) {
    return map_for(memory, std::span(&grant, 1));
}

Shared share_memory_of(Device device) {
    const auto granularity = ok(Granularity::of(device, shareable));
    const std::size_t size = ok(granularity.round_up(count * sizeof(int)));
    auto memory = ok(PhysicalMemory::create(device, size, shareable));
    auto mapped = map_for(memory, AccessGrant(device, AccessFlags::read_write));
    return {std::move(memory), std::move(mapped)};
}

void send_memory(Child &child, const Task &task, const PhysicalMemory &memory) {
    const UniqueFd fd = ok(memory.export_fd());
    child.channel().send(task);
    child.channel().send(memory.size());
    child.channel().send_fd(fd.get());
}

PhysicalMemory receive_memory(Channel &parent) {
    const auto size = parent.receive<std::size_t>();
    const UniqueFd fd(parent.receive_fd());
    return ok(PhysicalMemory::import_fd(fd.get(), size));
}

} // namespace

TEST_CASE("a process on one device maps memory of a process on another",
          "[device_processes][virtual_memory]") {
    restart(three_devices);
    for (const Task &task : pairs(need_devices(2))) {
        INFO("device " << task.here << " maps memory of device " << task.memory);
        const Worker worker = worker_on(task.memory);
        const Shared shared = share_memory_of(worker.device);
        ok(worker.fill(shared.words(), 11));
        Child child("child: maps memory of another device", three_devices);
        send_memory(child, task, shared.memory);
        child.channel().await(); // it has written
        CHECK(ok(worker.read(shared.words())) == filled(12));
        CHECK(child.passed());
    }
}

TEST_CASE("child: maps memory of another device", "[.]") {
    Channel parent = Channel::of_parent();
    const auto task = parent.receive<Task>();
    const Worker worker = worker_on(task.here);
    const PhysicalMemory memory = receive_memory(parent);
    CHECK(ok(memory.properties()).device == task.memory);
    const MappedRange mapped = map_for(memory, {worker.device, AccessFlags::read_write});
    const DeviceSpan<int> words(mapped.native(), count);
    CHECK(ok(worker.read(words)) == filled(11));
    ok(worker.fill(words, 12));
    parent.signal();
}

// --- access that was not granted

namespace {

struct Attempt {
    Task task;
    AccessFlags access = AccessFlags::none; // of the device that tries
};

// By its own process: the context that it takes place in is lost.
void check_stopped(const Attempt &attempt) {
    const Worker worker = worker_on(attempt.task.memory);
    const Shared shared = share_memory_of(worker.device);
    ok(worker.fill(shared.words(), 21));
    Child child("child: writes without access", three_devices);
    send_memory(child, attempt.task, shared.memory);
    child.channel().send(attempt.access);
    CHECK(child.channel().receive<int>() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(child.passed());
    CHECK(ok(worker.read(shared.words())) == filled(21));
    ok(worker.fill(shared.words(), 22));
    CHECK(ok(worker.read(shared.words())) == filled(22));
}

} // namespace

TEST_CASE("a kernel without access to memory is stopped, and the memory stays as it was",
          "[device_processes][virtual_memory]") {
    restart(three_devices);
    for (const Task &task : pairs(need_devices(2))) {
        INFO("device " << task.here << " writes to memory of device " << task.memory);
        check_stopped({task, AccessFlags::none});
    }
}

TEST_CASE("a kernel does not write to memory that its device may only read",
          "[device_processes][virtual_memory]") {
    if (simulator() != nullptr) {
        SKIP("kernels are functions of the host here, which a write like that would end");
    }
    restart("");
    for (const Task &task : pairs(need_devices(2))) {
        INFO("device " << task.here << " writes to memory of device " << task.memory);
        check_stopped({task, AccessFlags::read});
    }
}

TEST_CASE("child: writes without access", "[.]") {
    Channel parent = Channel::of_parent();
    const auto task = parent.receive<Task>();
    const PhysicalMemory memory = receive_memory(parent);
    const auto access = parent.receive<AccessFlags>();
    const Worker worker = worker_on(task.here);
    const AccessGrant grants[] = {{ok(Device::get(task.memory)), AccessFlags::read_write},
                                  {worker.device, access}};
    const MappedRange mapped = map_for(memory, grants);
    const Result<void> written = worker.fill({mapped.native(), count}, 99);
    parent.send(written ? 0 : written.error().status());
    _exit(0); // nothing of this process can be trusted any more
}

// --- pools

TEST_CASE("a process on one device imports a pool of a process on another",
          "[device_processes][pool]") {
    restart(three_devices);
    for (const Task &task : pairs(need_devices(2))) {
        INFO("device " << task.here << " imports a pool of device " << task.memory);
        const Worker worker = worker_on(task.memory);
        const auto pool = ok(MemoryPool::create(worker.device, {.exportable = {.posix_fd = true}}));
        const auto buffer = ok(PoolBuffer<int>::allocate(pool, worker.stream, count));
        ok(worker.fill(buffer.span(), 31));
        Child child("child: imports a pool of another device", three_devices);
        child.channel().send(task);
        const UniqueFd fd = ok(pool.export_fd());
        child.channel().send_fd(fd.get());
        child.channel().send(ok(buffer.export_pointer()));
        CHECK(child.passed());
        CHECK(ok(worker.read(buffer.span())) == filled(32));
    }
}

TEST_CASE("child: imports a pool of another device", "[.]") {
    Channel parent = Channel::of_parent();
    const auto task = parent.receive<Task>();
    const Worker worker = worker_on(task.here);
    const UniqueFd fd(parent.receive_fd());
    const auto pool = ok(MemoryPool::import_fd(fd.get()));
    ok(pool.set_access({worker.device, AccessFlags::read_write}));
    auto buffer =
        ok(PoolBuffer<int>::import_from(pool, worker.stream, parent.receive<PoolPointer>(), count));
    CHECK(ok(worker.read(buffer.span())) == filled(31));
    ok(worker.fill(buffer.span(), 32));
    ok(buffer.close());
    ok(worker.stream.synchronize());
}

#else

TEST_CASE("processes on different devices") {
    SKIP("the second process is started by POSIX calls");
}

#endif
