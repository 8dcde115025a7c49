// What is shared between two processes that were started apart: the second one is this program
// again, with one hidden test case.
#include "harness/scenario.hpp"
#include "support/child_process.hpp"
#include "support/ok.hpp"

#ifndef _WIN32

#include <array>

using namespace api_test;
using namespace cushim;
using support::Channel;
using support::Child;
using support::ok;

namespace {

using ExportBytes = std::array<std::byte, IpcExport::byte_count>;

ExportBytes bytes_of(const IpcExport &exported) {
    ExportBytes bytes{};
    const IpcExport::Bytes stored = exported.bytes();
    std::copy(std::begin(stored.stored), std::end(stored.stored), bytes.begin());
    return bytes;
}

Context primary() {
    return ok(Context::primary(ok(Device::get(0))));
}

CUcontext current_context() {
    CUcontext context = nullptr;
    REQUIRE(driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    return context;
}

bool primary_is_active() {
    unsigned int flags = 0;
    int active = 0;
    REQUIRE(driver().cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS);
    return active != 0;
}

std::vector<int> contents(const Context &context, DeviceSpan<int> memory) {
    std::vector<int> values(memory.size());
    ok(copy(context, std::span(values), memory));
    return values;
}

} // namespace

// --- memory and events, by IPC handles

TEST_CASE("two processes share memory and wait for each other", "[ipc][P3][P4][P5][P6]") {
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context));
    const auto buffer = ok(DeviceBuffer<int>::allocate(context, 1000));
    const auto part = ok(buffer.span().subspan(100, 50));
    const Event filled = ok(Event::interprocess(context));
    ok(fill(stream, buffer.span(), 1));
    ok(filled.record(stream));

    Child child("child: opens memory");
    child.channel().send(bytes_of(ok(IpcExport::of(context, part))));
    child.channel().send(ok(export_event(context, filled)));
    const Event written = ok(open_event(context, child.channel().receive<IpcEventHandle>()));
    child.channel().await(); // it has recorded the event
    ok(stream.wait_event(written));
    ok(stream.synchronize());
    const auto values = contents(context, buffer.span());
    child.channel().signal();
    CHECK(child.passed());
    for (int index = 0; index < 1000; ++index) {
        REQUIRE(values[static_cast<std::size_t>(index)] == (index >= 100 && index < 150 ? 2 : 1));
    }
}

TEST_CASE("child: opens memory", "[.]") {
    Channel parent = Channel::of_parent();
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context));
    const auto bytes = parent.receive<ExportBytes>();
    const auto exported = ok(IpcExport::from_bytes(std::span(bytes)));
    const auto handle = parent.receive<IpcEventHandle>();
    const Event filled = ok(open_event(context, handle));
    const Context other = ok(Context::create(ok(Device::get(0))));
    const Stream elsewhere = ok(Stream::create(other));
    CHECK(refused(elsewhere.wait_event(filled), ErrorKind::wrong_context));
    const Event filled_elsewhere = ok(open_event(other, handle));
    ok(elsewhere.wait_event(filled_elsewhere));
    ok(elsewhere.synchronize());
    const Event written = ok(Event::interprocess(context));
    auto memory = ok(IpcMemory::open(context, exported));
    const auto again = ok(IpcMemory::open(context, exported)); // each closes its own
    REQUIRE(memory.size() == 200);
    ok(stream.wait_event(filled));
    std::vector<int> values(50);
    ok(copy(stream, std::span(values), ok(memory.as<int>())));
    ok(fill(stream, ok(again.as<int>()), 2));
    parent.send(ok(export_event(context, written)));
    ok(written.record(stream));
    parent.signal();
    ok(stream.synchronize());
    CHECK(values == std::vector<int>(50, 1));
    ok(memory.close());
    parent.await();
}

TEST_CASE("opened memory keeps its context, and is closed in it", "[ipc][P3][P5]") {
    const Context context = context_after_restart("");
    const auto buffer = ok(DeviceBuffer<int>::allocate(context, 16));
    Child child("child: closes memory without a context");
    child.channel().send(bytes_of(ok(IpcExport::of(context, buffer.span()))));
    CHECK(child.passed());
}

TEST_CASE("child: closes memory without a context", "[.]") {
    Channel parent = Channel::of_parent();
    restart("");
    const auto bytes = parent.receive<ExportBytes>();
    const auto exported = ok(IpcExport::from_bytes(std::span(bytes)));
    auto memory = ok(IpcMemory::open(primary(), exported)); // the context has no other owner
    CHECK(primary_is_active());
    const DeviceSpan<int> span = ok(memory.as<int>());
    CHECK(contents(primary(), span).size() == 16);
    CHECK(current_context() == nullptr);
    CHECK(memory.close());
    CHECK(current_context() == nullptr);
    CHECK_FALSE(primary_is_active());

    memory = ok(IpcMemory::open(primary(), exported));
    const Context other = ok(Context::create(ok(Device::get(0))));
    const auto scope = ok(other.enter());
    CHECK(memory.close());
    CHECK(current_context() == other.native());
    CHECK(leaks().size() <= 2); // the other context, current
}

TEST_CASE("opened memory is closed while streams are captured", "[ipc]") {
    const Context context = context_after_restart("");
    const auto buffer = ok(DeviceBuffer<int>::allocate(context, 16));
    Child child("child: closes memory in a capture");
    child.channel().send(bytes_of(ok(IpcExport::of(context, buffer.span()))));
    CHECK(child.passed());
}

TEST_CASE("child: closes memory in a capture", "[.]") {
    Channel parent = Channel::of_parent();
    restart("");
    const auto bytes = parent.receive<ExportBytes>();
    const Context context = primary();
    auto memory = ok(IpcMemory::open(context, ok(IpcExport::from_bytes(std::span(bytes)))));
    const Stream stream = ok(Stream::create(context));
    REQUIRE(driver().cuStreamBeginCapture(stream.native(), CU_STREAM_CAPTURE_MODE_GLOBAL) ==
            CUDA_SUCCESS);
    CHECK(memory.close());
    CUgraph graph = nullptr;
    CHECK(driver().cuStreamEndCapture(stream.native(), &graph) == CUDA_SUCCESS);
    CHECK(driver().cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("an export that claims more than there is is refused", "[ipc][P3]") {
    const Context context = context_after_restart("");
    const auto buffer = ok(DeviceBuffer<int>::allocate(context, 16));
    Child child("child: opens too much");
    child.channel().send(bytes_of(ok(IpcExport::of(context, buffer.span()))));
    CHECK(child.passed());
}

TEST_CASE("child: opens too much", "[.]") {
    Channel parent = Channel::of_parent();
    const Context context = context_after_restart("");
    auto bytes = parent.receive<ExportBytes>();
    bytes[72 + 5] = std::byte{1}; // a terabyte more
    const auto exported = ok(IpcExport::from_bytes(std::span(bytes)));
    CHECK(error_of(IpcMemory::open(context, exported)).kind() == ErrorKind::invalid_argument);
}

// --- pools

TEST_CASE("two processes share a pool", "[pool]") {
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context));
    const auto pool =
        ok(MemoryPool::create(ok(Device::get(0)), {.exportable = {.posix_fd = true}}));
    auto buffer = ok(PoolBuffer<int>::allocate(pool, stream, 100));
    ok(fill(stream, buffer.span(), 5));
    ok(stream.synchronize());

    Child child("child: imports a pool through the wrappers");
    const UniqueFd exported = ok(pool.export_fd());
    child.channel().send_fd(exported.get());
    child.channel().send(ok(buffer.export_pointer()));
    CHECK(child.passed());
    CHECK(contents(context, buffer.span()) == std::vector<int>(100, 6));
}

TEST_CASE("child: imports a pool through the wrappers", "[.]") {
    Channel parent = Channel::of_parent();
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context));
    UniqueFd received(parent.receive_fd());
    const auto pool = ok(MemoryPool::import_fd(received.get()));
    received.reset(); // stays ours: the import has its own
    const auto pointer = parent.receive<PoolPointer>();
    CHECK(PoolBuffer<int>::allocate(pool, stream, 1).error().kind() != ErrorKind::out_of_memory);
    auto buffer = ok(PoolBuffer<int>::import_from(pool, stream, pointer, 100));
    CHECK(contents(context, buffer.span()) == std::vector<int>(100, 5));
    ok(fill(stream, buffer.span(), 6));
    ok(stream.synchronize());
    ok(buffer.close());
    ok(stream.synchronize());
}

#else

TEST_CASE("two processes") {
    SKIP("the second process is started by POSIX calls");
}

#endif
