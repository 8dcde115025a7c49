// Resources shared by two processes, on one device and on two: memory and events by IPC handles,
// memory and semaphores by descriptors, and pools. The other process is this program with one
// hidden test case.
#include "harness/devices.hpp"
#include "harness/exported_memory.hpp"
#include "harness/external.hpp"
#include "harness/memory.hpp"
#include "harness/simulated_semaphore.hpp"
#include "support/child_process.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/ipc.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pool_buffer.hpp>

#include <unistd.h>

using namespace api_test;
using namespace cushim;
using support::Channel;
using support::Child;

namespace {

constexpr const char *three_devices = "devices=3";
constexpr std::size_t count = 20'000;

// The device of the child, and the device of the memory.
struct Task {
    CUdevice here = 0;
    CUdevice memory = 0;

    std::string text() const {
        return "device " + std::to_string(here) + ", memory of device " + std::to_string(memory);
    }
};

Worker worker_on(CUdevice ordinal) {
    return ok(Worker::on(ok(Device::get(ordinal))));
}

// Every device with itself, and with the next one if that can access it.
std::vector<Task> tasks() {
    restart(three_devices);
    const auto devices = need_devices(1);
    std::vector<Task> all;
    for (std::size_t index = 0; index < devices.size(); ++index) {
        const Device memory = devices[index], next = devices[(index + 1) % devices.size()];
        all.push_back({memory.native(), memory.native()});
        if (next != memory && ok(next.can_access(memory))) {
            all.push_back({next.native(), memory.native()});
        }
    }
    return all;
}

std::vector<Task> tasks_of_two() {
    std::vector<Task> all = tasks();
    std::erase_if(all, [](const Task &task) { return task.here == task.memory; });
    if (all.empty()) {
        SKIP("no device of this machine can access another's memory");
    }
    return all;
}

std::vector<int> filled(int value) {
    return std::vector<int>(count, value);
}

} // namespace

// --- memory and events, by IPC handles

TEST_CASE("two processes share memory and wait for each other",
          "[processes][ipc][P3][P4][P5][P6]") {
    for (const Task &task : tasks()) {
        INFO(task.text());
        const Worker worker = worker_on(task.memory);
        auto buffer = ok(DeviceBuffer<int>::allocate(worker.context, count));
        const auto part = ok(buffer.span().subspan(100, 50));
        const Event filled_here = ok(Event::interprocess(worker.context));
        ok(fill(worker.stream, buffer.span(), 1));
        ok(filled_here.record(worker.stream));
        Child child("child: opens memory", three_devices);
        child.channel().send(task);
        child.channel().send(ok(IpcExport::of(worker.context, part)).bytes());
        child.channel().send(ok(export_event(worker.context, filled_here)));
        const auto handle = child.channel().receive<IpcEventHandle>();
        const Event written = ok(open_event(worker.context, handle));
        child.channel().await(); // it has recorded the event
        ok(worker.stream.wait_event(written));
        ok(worker.stream.synchronize());
        std::vector<int> expected = filled(1);
        std::fill_n(expected.begin() + 100, 50, 2);
        CHECK(ok(worker.read(buffer.span())) == expected);
        child.channel().signal();
        CHECK(child.passed());
    }
}

TEST_CASE("child: opens memory", "[.]") {
    Channel parent = Channel::of_parent();
    const Worker worker = worker_on(parent.receive<Task>().here);
    const auto exported = ok(IpcExport::from_bytes(parent.receive<IpcExport::Bytes>()));
    const auto handle = parent.receive<IpcEventHandle>();
    const Event filled_there = ok(open_event(worker.context, handle));
    const Context other = ok(Context::create(worker.device));
    const Stream elsewhere = ok(Stream::create(other));
    CHECK(refused(elsewhere.wait_event(filled_there), ErrorKind::wrong_context));
    const Event filled_elsewhere = ok(open_event(other, handle));
    ok(elsewhere.wait_event(filled_elsewhere));
    ok(elsewhere.synchronize());
    const Event written = ok(Event::interprocess(worker.context));
    auto memory = ok(IpcMemory::open(worker.context, exported));
    const auto again = ok(IpcMemory::open(worker.context, exported)); // each is closed separately
    REQUIRE(memory.size() == 200);
    ok(worker.stream.wait_event(filled_there));
    ok(worker.stream.synchronize());
    const auto words = ok(again.as<int>());
    CHECK(ok(worker.read(ok(memory.as<int>()))) == std::vector<int>(50, 1));
    ok(worker.fill(words, 3)); // a kernel; opening grants access to this device
    CHECK(ok(worker.read(words)) == std::vector<int>(50, 3));
    ok(fill(worker.stream, words, 2));
    parent.send(ok(export_event(worker.context, written)));
    ok(written.record(worker.stream));
    parent.signal();
    ok(worker.stream.synchronize());
    ok(memory.close());
    parent.await();
}

namespace {

// The child receives the export of a small buffer, which outlives the child.
void check_child_given_memory(const char *name) {
    const Context context = context_after_restart("");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 16));
    Child child(name);
    child.channel().send(ok(IpcExport::of(context, buffer.span())).bytes());
    CHECK(child.passed());
}

} // namespace

TEST_CASE("opened memory keeps its context alive and is closed in it", "[processes][ipc][P3][P5]") {
    check_child_given_memory("child: closes memory without a context");
}

TEST_CASE("child: closes memory without a context", "[.]") {
    Channel parent = Channel::of_parent();
    restart("");
    const auto exported = ok(IpcExport::from_bytes(parent.receive<IpcExport::Bytes>()));
    auto memory = ok(IpcMemory::open(primary(), exported)); // the only owner of the context
    CHECK(is_primary_active());
    const DeviceSpan<const int> span = ok(memory.as<int>());
    CHECK(ok(read(primary(), span)).size() == 16);
    CHECK(current_context() == nullptr);
    CHECK(memory.close());
    CHECK(current_context() == nullptr);
    CHECK_FALSE(is_primary_active());

    memory = ok(IpcMemory::open(primary(), exported));
    const Context other = ok(Context::create(ok(Device::get(0))));
    const auto scope = ok(other.enter());
    CHECK(memory.close());
    CHECK(current_context() == other.native());
    CHECK(leaks().size() <= 2); // the other context
}

TEST_CASE("closing opened memory keeps a capture valid", "[processes][ipc]") {
    check_child_given_memory("child: closes memory in a capture");
}

TEST_CASE("child: closes memory in a capture", "[.]") {
    Channel parent = Channel::of_parent();
    restart("");
    const auto exported = ok(IpcExport::from_bytes(parent.receive<IpcExport::Bytes>()));
    const Context context = primary();
    auto memory = ok(IpcMemory::open(context, exported));
    const Stream stream = ok(Stream::create(context));
    ok(driver().cuStreamBeginCapture(stream.native(), CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(memory.close());
    CUgraph graph = nullptr;
    CHECK(driver().cuStreamEndCapture(stream.native(), &graph) == CUDA_SUCCESS);
    CHECK(driver().cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("opening an export larger than its allocation fails", "[processes][ipc][P3]") {
    check_child_given_memory("child: opens too much");
}

TEST_CASE("child: opens too much", "[.]") {
    Channel parent = Channel::of_parent();
    const Context context = context_after_restart("");
    auto bytes = parent.receive<IpcExport::Bytes>();
    bytes.stored[72 + 5] = std::byte{1}; // adds a terabyte
    CHECK(refused(IpcMemory::open(context, ok(IpcExport::from_bytes(bytes)))));
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

// Sends a descriptor and the size of its memory.
void send_memory(Channel &to, const UniqueFd &fd, std::size_t size) {
    to.send(size);
    to.send_fd(fd.get());
}
void send_memory(Child &child, const Task &task, const PhysicalMemory &memory) {
    child.channel().send(task);
    send_memory(child.channel(), ok(memory.export_fd()), memory.size());
}
PhysicalMemory receive_memory(Channel &parent) {
    const auto size = parent.receive<std::size_t>();
    const UniqueFd fd(parent.receive_fd());
    return ok(PhysicalMemory::import_fd(fd.get(), size));
}

} // namespace

TEST_CASE("two processes map the same memory", "[processes][virtual_memory]") {
    for (const Task &task : tasks()) {
        INFO(task.text());
        const Worker worker = worker_on(task.memory);
        const Shared shared = share_memory_of(worker.device);
        ok(worker.fill(shared.words(), 11));
        Child child("child: maps the memory of a descriptor", three_devices);
        send_memory(child, task, shared.memory);
        child.channel().await(); // it has written
        CHECK(ok(worker.read(shared.words())) == filled(12));
        CHECK(child.passed());
    }
    CHECK(misuses().empty());
}

TEST_CASE("child: maps the memory of a descriptor", "[.]") {
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

TEST_CASE("a descriptor keeps memory alive after its owner has freed it",
          "[processes][virtual_memory]") {
    restart("");
    const Worker worker = worker_on(0);
    Child child("child: maps memory that only the descriptor keeps");
    {
        const Shared shared = share_memory_of(worker.device);
        ok(worker.fill(shared.words(), 41));
        send_memory(child.channel(), ok(shared.memory.export_fd()), shared.memory.size());
    }
    child.channel().signal();
    CHECK(child.passed());
}

TEST_CASE("child: maps memory that only the descriptor keeps", "[.]") {
    Channel parent = Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    const UniqueFd fd(parent.receive_fd());
    parent.await();
    const Worker worker = worker_on(0);
    const auto memory = ok(PhysicalMemory::import_fd(fd.get(), size));
    const MappedRange mapped = map_for(memory, {worker.device, AccessFlags::read_write});
    CHECK(ok(worker.read({mapped.native(), count})) == filled(41));
}

TEST_CASE("exports and imports close their descriptors", "[processes][virtual_memory]") {
    restart("");
    const Worker worker = worker_on(0);
    const std::size_t before = support::open_descriptors();
    {
        const Shared shared = share_memory_of(worker.device);
        const UniqueFd fd = ok(shared.memory.export_fd());
        const std::size_t size = shared.memory.size();
        CHECK_FALSE(PhysicalMemory::import_fd(fd.get(), size + 1));
        const auto imported = ok(PhysicalMemory::import_fd(fd.get(), size));
        CHECK(map_for(imported, {worker.device, AccessFlags::read_write}).size() == size);
        CHECK(support::is_open(fd.get()));
    }
    CHECK(support::open_descriptors() == before);
}

// --- access without a grant

namespace {

// The access is in a child process, as it breaks the context.
void check_stopped(const Task &task, AccessFlags access) {
    INFO(task.text());
    const Worker worker = worker_on(task.memory);
    const Shared shared = share_memory_of(worker.device);
    ok(worker.fill(shared.words(), 21));
    Child child("child: writes without access", three_devices);
    send_memory(child, task, shared.memory);
    child.channel().send(access);
    CHECK(child.channel().receive<int>() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(child.passed());
    CHECK(ok(worker.read(shared.words())) == filled(21));
    ok(worker.fill(shared.words(), 22));
    CHECK(ok(worker.read(shared.words())) == filled(22));
}

} // namespace

TEST_CASE("a kernel without access to memory fails and does not change it",
          "[processes][virtual_memory]") {
    for (const Task &task : tasks_of_two()) {
        check_stopped(task, AccessFlags::none);
    }
}

TEST_CASE("a kernel with read access fails and does not change the memory",
          "[processes][virtual_memory]") {
    if (simulator() != nullptr) {
        SKIP("needs a GPU: simulated kernels are host functions, which such a write would crash");
    }
    for (const Task &task : tasks_of_two()) {
        check_stopped(task, AccessFlags::read);
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
    _exit(0); // the process is in an undefined state
}

// --- pools

TEST_CASE("two processes share a pool", "[processes][pool]") {
    for (const Task &task : tasks()) {
        INFO(task.text());
        const Worker worker = worker_on(task.memory);
        const auto pool = ok(MemoryPool::create(worker.device, {.exportable = {.posix_fd = true}}));
        auto buffer = ok(PoolBuffer<int>::allocate(pool, worker.stream, count));
        ok(worker.fill(buffer.span(), 31));
        Child child("child: imports a pool", three_devices);
        child.channel().send(task);
        const UniqueFd fd = ok(pool.export_fd());
        child.channel().send_fd(fd.get());
        child.channel().send(ok(buffer.export_pointer()));
        CHECK(child.passed());
        CHECK(ok(worker.read(buffer.span())) == filled(32));
    }
}

TEST_CASE("child: imports a pool", "[.]") {
    Channel parent = Channel::of_parent();
    const Worker worker = worker_on(parent.receive<Task>().here);
    UniqueFd fd(parent.receive_fd());
    const auto pool = ok(MemoryPool::import_fd(fd.get()));
    fd.reset(); // the import has its own
    ok(pool.set_access({worker.device, AccessFlags::read_write}));
    auto allocated = PoolBuffer<int>::allocate(pool, worker.stream, 1);
    CHECK(error_of(allocated).kind() != ErrorKind::out_of_memory);
    auto buffer =
        ok(PoolBuffer<int>::import_from(pool, worker.stream, parent.receive<PoolPointer>(), count));
    CHECK(ok(worker.read(buffer.span())) == filled(31));
    ok(worker.fill(buffer.span(), 32));
    ok(buffer.close());
    ok(worker.stream.synchronize());
}

// --- external memory and semaphores

TEST_CASE("two processes share external memory by a descriptor", "[processes][X13]") {
    const Context context = context_after_restart("");
    auto exported = ok(export_memory(1));
    auto own = ok(map_own(exported.memory));
    const auto words = own.span<unsigned int>();
    ok(fill(context, words, 41u));
    Child child("child: writes to external memory");
    send_memory(child.channel(), exported.fd, exported.size());
    exported.fd.reset();
    child.channel().await();
    CHECK(ok(read(context, words)) == std::vector<unsigned int>(words.size(), 42));
    ok(own.close());
    ok(exported.memory.close());
    child.channel().signal();
    CHECK(child.passed());
}

TEST_CASE("child: writes to external memory", "[.]") {
    Channel parent = Channel::of_parent();
    restart("");
    const auto size = parent.receive<std::size_t>();
    auto source = ExternalMemorySource::opaque_fd(UniqueFd(parent.receive_fd()));
    const Context context = primary();
    const auto memory = ok(ExternalMemory::import_from(context, std::move(source), size));
    const auto buffer = ok(memory.map_buffer(0, size));
    const auto words = ok(buffer.as<unsigned int>());
    CHECK(ok(read(context, words)) == std::vector<unsigned int>(words.size(), 41));
    ok(fill(context, words, 42u));
    parent.signal();
    parent.await(); // it has read the words and freed the memory
    CHECK(ok(read(context, words)).back() == 42);
}

TEST_CASE("two processes take turns with a timeline semaphore", "[processes][X13]") {
    need_simulator(needs_vulkan);
    const Context context = context_after_restart("");
    const SimulatedSemaphore theirs(0);
    Child child("child: takes turns with its parent");
    const UniqueFd exported = theirs.exported();
    child.channel().send_fd(exported.get());
    const auto frame = ok(TimelineSemaphore::import_fd(context, theirs.exported()));
    const Stream stream = ok(Stream::create(context));
    for (unsigned int n = 1; n <= 10; ++n) {
        ok(frame.signal(stream, 2 * n - 1));
        ok(frame.wait(stream, 2 * n));
        ok(stream.synchronize());
    }
    CHECK(theirs.value() == 20);
    CHECK(child.passed());
}

TEST_CASE("child: takes turns with its parent", "[.]") {
    Channel parent = Channel::of_parent();
    restart("");
    const Context context = primary();
    const auto frame = ok(TimelineSemaphore::import_fd(context, UniqueFd(parent.receive_fd())));
    const Stream stream = ok(Stream::create(context));
    for (unsigned int n = 1; n <= 10; ++n) {
        ok(frame.wait(stream, 2 * n - 1));
        ok(frame.signal(stream, 2 * n));
        ok(stream.synchronize());
    }
}
