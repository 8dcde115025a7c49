#include "harness/mapped_memory.hpp"
#include "harness/memory.hpp"
#include "harness/spied_call.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/ipc.hpp>
#include <cushim/managed_buffer.hpp>

#include <algorithm>
#include <array>
#include <type_traits>

using namespace api_test;
using namespace cushim;

namespace {

// A made-up export.
IpcExport made_up_export(unsigned char offset = 0, unsigned char size = 16) {
    std::array<std::byte, IpcExport::byte_count> bytes{};
    bytes[64] = std::byte{offset};
    bytes[72] = std::byte{size};
    return ok(IpcExport::from_bytes(bytes));
}

template <class Owner>
concept can_be_shared = requires(const Owner &owner) { owner.share(); };

} // namespace

SCENARIO_TEST("whole allocations and parts of them are exported", "[ipc][P2]",
              (const Context &context)) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 1000));
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

SCENARIO_TEST("an interprocess event is exported", "[ipc]", (const Context &context)) {
    CUSHIM_TRY(const Event event, Event::interprocess(context));
    CUSHIM_TRY(const IpcEventHandle handle, export_event(context, event));
    CHECK(IpcEventHandle::from_bytes(handle.bytes()) == handle);
    return {};
}

TEST_CASE("an event of this process cannot be opened", "[ipc]") {
    const Context context = context_after_restart("");
    const Event own = ok(Event::interprocess(context));
    const IpcEventHandle handle = ok(export_event(context, own));
    CHECK(refused(open_event(context, handle), ErrorKind::wrong_context));
}

TEST_CASE("a memory handle converts to bytes and back", "[ipc][P1]") {
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

    STATIC_REQUIRE(std::is_same_v<decltype(handle.bytes()), std::span<const std::byte, 64>>);
}

TEST_CASE("an export converts to bytes and back, and invalid bytes are rejected", "[ipc]") {
    std::array<std::byte, IpcExport::byte_count> sent{};
    CHECK(refused(IpcExport::from_bytes(sent))); // no size
    sent[72] = std::byte{16};
    const auto received = ok(IpcExport::from_bytes(sent));
    CHECK(received.size() == 16);
    const auto again = ok(IpcExport::from_bytes(received.bytes()));
    CHECK(again.size() == 16);
    // One byte too many.
    std::array<std::byte, IpcExport::byte_count + 1> longer{};
    std::copy(sent.begin(), sent.end(), longer.begin());
    CHECK(refused(IpcExport::from_bytes(longer)));
    // An offset whose sum with the size overflows.
    std::fill_n(sent.begin() + 64, 8, std::byte{0xff});
    CHECK(refused(IpcExport::from_bytes(sent)));
}

TEST_CASE("from_handle() makes an export of a plain CUDA handle and a size", "[ipc]") {
    std::array<std::byte, 64> bytes{};
    bytes[5] = std::byte{7};
    const IpcMemHandle handle = IpcMemHandle::from_bytes(bytes);
    const IpcExport whole = ok(IpcExport::from_handle(handle, 4096));
    CHECK(whole.handle() == handle);
    CHECK(whole.offset() == 0);
    CHECK(whole.size() == 4096);
    const IpcExport part = ok(IpcExport::from_handle(handle, 16, 256));
    CHECK(part.offset() == 256);
    CHECK(part.size() == 16);
    CHECK(ok(IpcExport::from_bytes(part.bytes())).handle() == handle);
    check_refused(IpcExport::from_handle(handle, 0), "the size of the exported memory is 0");
}

TEST_CASE("exporting memory without IPC handles fails with the alternative", "[ipc][P2]") {
    const Context context = context_after_restart("");
    const auto check_says = [&](DeviceSpan<int> memory, const char *instead) {
        INFO(instead);
        check_refused(IpcExport::of(context, memory), instead);
    };
    auto managed = ok(ManagedBuffer<int>::allocate(context, 100));
    check_says(managed.device_span(), "DeviceBuffer::allocate");
    auto host = ok(HostMappedBuffer<int>::allocate(context, 100));
    check_says(host.device_span(), "HostRegistration");
    const auto place = ok(MappingDevice::make());
    const auto mapped = ok(map_new(place, place.unit));
    check_says(mapped.span<int>(), "PhysicalMemory::export_fd");
}

TEST_CASE("the driver receives the start of the allocation for a part of it", "[ipc][P2]") {
    const Context context = context_after_restart("");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 100));
    static CUdeviceptr asked;
    asked = 0;
    const SpiedCall<entry::cuIpcGetMemHandle> spied(
        [](CUipcMemHandle *, CUdeviceptr address) { asked = address; });
    CHECK(IpcExport::of(context, ok(buffer.span().subspan(10, 5))));
    CHECK(asked == buffer.native());
}

TEST_CASE("IpcMemory can be moved, but neither copied nor shared", "[ipc][P4]") {
    STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<IpcMemory>);
    STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<IpcMemory>);
    STATIC_REQUIRE(std::is_nothrow_move_constructible_v<IpcMemory>);
    STATIC_REQUIRE(std::is_nothrow_move_assignable_v<IpcMemory>);
    STATIC_REQUIRE_FALSE(can_be_shared<IpcMemory>);
}

TEST_CASE("IPC calls fail with not_supported_by_device on machines without IPC", "[ipc][P7]") {
    const Context context = context_after_restart("");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 100));
    const auto event = ok(Event::interprocess(context));
    {
        const ScopedOverride<entry::cuIpcGetMemHandle> get_memory(
            [](CUipcMemHandle *, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; });
        const ScopedOverride<entry::cuIpcGetEventHandle> get_event(
            [](CUipcEventHandle *, CUevent) { return CUDA_ERROR_NOT_SUPPORTED; });
        const ScopedOverride<entry::cuIpcOpenMemHandle> open_memory(
            [](CUdeviceptr *, CUipcMemHandle, unsigned int) { return CUDA_ERROR_NOT_SUPPORTED; });
        const ScopedOverride<entry::cuIpcOpenEventHandle> open_of_event(
            [](CUevent *, CUipcEventHandle) { return CUDA_ERROR_NOT_SUPPORTED; });
        constexpr auto lacking = ErrorKind::not_supported_by_device;
        CHECK(IpcExport::of(context, buffer.span()).error().kind() == lacking);
        CHECK(export_event(context, event).error().kind() == lacking);
        CHECK(IpcMemory::open(context, made_up_export()).error().kind() == lacking);
        CHECK(open_event(context, IpcEventHandle()).error().kind() == lacking);
    }
    CHECK(IpcExport::of(context, buffer.span()));
    CHECK(export_event(context, event));
}

TEST_CASE("opening memory returns the driver's status", "[ipc][P8]") {
    const Context context = context_after_restart("");
    const ScopedOverride<entry::cuIpcOpenMemHandle> open(
        [](CUdeviceptr *, CUipcMemHandle, unsigned int) { return CUDA_ERROR_ALREADY_MAPPED; });
    const Error opened = error_of(IpcMemory::open(context, made_up_export()));
    CHECK(opened.kind() == ErrorKind::status);
    CHECK(opened.api() == Api::driver);
    CHECK(opened.status() == CUDA_ERROR_ALREADY_MAPPED);
    CHECK(std::string(opened.entry_point()) == "cuIpcOpenMemHandle_v2");
}

TEST_CASE("exporting freed memory fails", "[ipc][P2]") {
    const Context context = context_after_restart("");
    DeviceSpan<int> freed;
    {
        auto buffer = ok(DeviceBuffer<int>::allocate(context, 100));
        freed = buffer.span();
    }
    check_refused(IpcExport::of(context, freed), "is not in device memory");
}

TEST_CASE("exporting memory whose number of bytes overflows fails", "[ipc][P2]") {
    const Context context = context_after_restart("");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 100));
    const DeviceSpan<int> wrapping(buffer.native(), SIZE_MAX / sizeof(int) + 2);
    REQUIRE(wrapping.size_bytes() == 4);
    check_refused(IpcExport::of(context, wrapping), "address space");
}

namespace {

// Stands in for an export of another process.
CUdeviceptr opened_address = 0;
int closed_count = 0;

CUresult open_own(CUdeviceptr *to, CUipcMemHandle, unsigned int) {
    *to = opened_address;
    return CUDA_SUCCESS;
}
CUresult count_close(CUdeviceptr address) {
    closed_count += address == opened_address ? 1 : 0;
    return CUDA_SUCCESS;
}

struct StandIn {
    const Context context = context_after_restart("");
    DeviceBuffer<int> buffer = ok(DeviceBuffer<int>::allocate(context, 100));
    const ScopedOverride<entry::cuIpcOpenMemHandle> open{open_own};
    const ScopedOverride<entry::cuIpcCloseMemHandle> close{count_close};

    StandIn() {
        opened_address = buffer.native();
        closed_count = 0;
    }
};

} // namespace

TEST_CASE("opened memory waits for its stream before it is closed", "[ipc][P5]") {
    const StandIn other_process;
    const Context &context = other_process.context;
    auto memory = ok(IpcMemory::open(context, made_up_export()));
    {
        const Stream stream = ok(Stream::create(context));
        REQUIRE(memory.release_after(stream).has_value()); // keeps the stream alive
    }
    check_refused(memory.release_after(Stream()), "is empty");
    check_refused(memory.release_after(Stream::legacy()), "Stream::create()");
    const auto calls = calls_in([&] { CHECK(memory.close().has_value()); });
    CHECK(closed_count == 1);
    if (simulator() != nullptr) {
        CHECK(std::find(calls.begin(), calls.end(), "cuStreamSynchronize") != calls.end());
    }
    CHECK(IpcMemory().release_after(ok(Stream::create(context))).has_value());
}

// In another context the CUDA call would close memory opened there.
TEST_CASE("opened memory is not closed in another context", "[ipc][P5]") {
    const StandIn other_process;
    const Context &context = other_process.context;
    auto memory = ok(IpcMemory::open(context, made_up_export()));
    const Context other = ok(Context::create(ok(context.device())));
    const ContextScope scope = ok(other.enter());
    const ScopedOverride<entry::cuCtxPushCurrent> fails(
        [](CUcontext) { return CUDA_ERROR_OUT_OF_MEMORY; });
    CHECK(error_of(memory.close()).status() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(closed_count == 0);
    CHECK_FALSE(memory);
}

TEST_CASE("opened memory rejects partial and misaligned elements", "[ipc][P1]") {
    const StandIn other_process;
    const Context &context = other_process.context;
    const auto odd = ok(IpcMemory::open(context, made_up_export(3, 16)));
    check_refused(odd.as<int>(), "element alignment of 4");
    CHECK(ok(odd.as<char>()).native() == opened_address + 3);
    CHECK(odd.span().size() == 16);
    const auto part = ok(IpcMemory::open(context, made_up_export(8, 12)));
    check_refused(part.as<double>(), "size 12");
    CHECK(ok(part.as<int>()).native() == opened_address + 8);
    CHECK(ok(part.as<int>()).size() == 3);
    CHECK(ok(IpcMemory().as<int>()).empty());
}
