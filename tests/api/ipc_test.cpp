#include "harness/scenario.hpp"
#include "harness/simulator.hpp"

#include <array>

using namespace cushim;

SCENARIO_TEST("memory is exported, whole and in part", "[ipc][P2]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY(const IpcExport whole, IpcExport::of(context, buffer.span()));
    CHECK(whole.offset() == 0);
    CHECK(whole.size() == 4000);
    CUSHIM_TRY(const auto middle, buffer.span().subspan(100, 50));
    CUSHIM_TRY(const IpcExport part, IpcExport::of(context, middle));
    CHECK(part.offset() == 400);
    CHECK(part.size() == 200);
    CHECK(part.handle() == whole.handle());
    return {};
}

SCENARIO_TEST("an event is exported", "[ipc]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Event event, Event::interprocess(context));
    CUSHIM_TRY(const IpcEventHandle handle, export_event(context, event));
    CHECK(IpcEventHandle::from_bytes(handle.bytes()) == handle);
    return {};
}

TEST_CASE("exported memory travels as bytes", "[ipc][P1]") {
    std::array<std::byte, 64> bytes{};
    for (std::size_t index = 0; index < bytes.size(); ++index) {
        bytes[index] = static_cast<std::byte>((index * 3) ^ 0x55);
    }
    const IpcMemHandle handle = IpcMemHandle::from_bytes(bytes);
    CHECK(std::equal(bytes.begin(), bytes.end(), handle.bytes().begin()));
    CHECK(handle == IpcMemHandle::from_bytes(handle.bytes()));
    CHECK_FALSE(handle == IpcMemHandle());
    STATIC_REQUIRE(std::is_trivially_copyable_v<IpcMemHandle>);
    STATIC_REQUIRE(sizeof(IpcMemHandle) == 64);

    std::array<std::byte, IpcExport::byte_count> sent{};
    CHECK(IpcExport::from_bytes(sent).error().kind() == ErrorKind::invalid_argument); // no size
    sent[72] = std::byte{16};
    const auto received = IpcExport::from_bytes(sent);
    REQUIRE(received.has_value());
    CHECK(received->size() == 16);
    const auto again = IpcExport::from_bytes(received->bytes());
    REQUIRE(again.has_value());
    CHECK(again->size() == 16);
    // An offset so large that the sum overflows; bytes that are too few.
    std::fill_n(sent.begin() + 64, 8, std::byte{0xff});
    CHECK(IpcExport::from_bytes(sent).error().kind() == ErrorKind::invalid_argument);
    CHECK(IpcExport::from_bytes(std::span(sent).first(79)).error().kind() ==
          ErrorKind::invalid_argument);
}

TEST_CASE("memory that cannot be exported says what to use instead", "[ipc][P2]") {
    api_test::restart("");
    const auto context = Context::primary(Device::from_native(0));
    REQUIRE(context.has_value());
    const auto stream = Stream::create(*context);
    REQUIRE(stream.has_value());

    const auto pooled = DeviceBuffer<int>::allocate_async(*stream, 100);
    REQUIRE(pooled.has_value());
    const auto of_pool = IpcExport::of(*context, pooled->span());
    REQUIRE_FALSE(of_pool.has_value());
    CHECK(of_pool.error().kind() == ErrorKind::invalid_argument);
    CHECK(std::string(of_pool.error().message()).find("MemoryPool::export_fd") !=
          std::string::npos);

    CHECK(IpcExport::of(*context, DeviceSpan<int>()).error().kind() == ErrorKind::invalid_argument);
    const auto buffer = DeviceBuffer<int>::allocate(*context, 100);
    REQUIRE(buffer.has_value());
    const DeviceSpan<int> beyond(buffer->native(), std::size_t(1) << 40);
    CHECK(IpcExport::of(*context, beyond).error().kind() == ErrorKind::invalid_argument);
}

TEST_CASE("memory cannot be opened where it was exported", "[ipc][P3]") {
    api_test::restart("");
    const auto context = Context::primary(Device::from_native(0));
    REQUIRE(context.has_value());
    const auto buffer = DeviceBuffer<int>::allocate(*context, 100);
    REQUIRE(buffer.has_value());
    const auto exported = IpcExport::of(*context, buffer->span());
    REQUIRE(exported.has_value());
    CHECK(IpcMemory::open(*context, *exported).error().kind() == ErrorKind::wrong_context);
    CHECK_FALSE(IpcMemory::open(*context, IpcExport()).has_value());
}
