#include "failures.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/fd_channel.hpp>
#include <cushim/ipc.hpp>
#include <cushim/override.hpp>

#include "harness/external.hpp"
#include "harness/simulator.hpp"

#include <array>
#include <cstdio>

#ifndef _WIN32
#include "harness/exported_memory.hpp"
#include "harness/simulated_semaphore.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#endif

using namespace api_test;
using namespace cushim;

namespace {

#ifdef _WIN32

void check_descriptors(Failures &failures, const Context &context) {
    const auto check = [&](const std::string &function, const char *instead, const auto &result) {
        failures.expect(function + ": file descriptors are not supported on Windows; " + instead,
                        result, ErrorKind::unsupported_platform);
    };
    check("UniqueFd::duplicate", "duplicate Windows handles with DuplicateHandle()",
          UniqueFd().duplicate());
    check("BinarySemaphore::import_fd", "use BinarySemaphore::import_win32()",
          BinarySemaphore::import_fd(context, UniqueFd()));
    check("TimelineSemaphore::import_fd", "use TimelineSemaphore::import_win32()",
          TimelineSemaphore::import_fd(context, UniqueFd()));
    check("ExternalMemory::import_from", "use ExternalMemorySource::opaque_win32()",
          ExternalMemory::import_from(context, ExternalMemorySource::opaque_fd({}), 4096));
    failures.expect("send_fd: file descriptors cannot be sent on Windows; duplicate Windows "
                    "handles with DuplicateHandle()",
                    send_fd(0, 0), ErrorKind::unsupported_platform);
    failures.expect("receive_fd: file descriptors cannot be sent on Windows; duplicate Windows "
                    "handles with DuplicateHandle()",
                    receive_fd(0), ErrorKind::unsupported_platform);
    failures.expect("ExternalMemory::adopt: the handle is null",
                    ExternalMemory::adopt(context, nullptr, 1));
    failures.expect("ExternalMemory::map_buffer: the ExternalMemory is empty",
                    ExternalMemory().map_buffer(0, 1));
    failures.expect("ExternalMemory::map_mipmapped: the ExternalMemory is empty",
                    ExternalMemory().map_mipmapped(0, {}));
    failures.expect("ExternalMipmappedArray::level: the ExternalMipmappedArray is empty",
                    ExternalMipmappedArray().level(0));
    failures.expect("ExternalMipmappedArray::release_after: the Stream is empty",
                    ExternalMipmappedArray().release_after(Stream()));
    failures.expect("ExternalBuffer::release_after: the Stream is empty",
                    ExternalBuffer().release_after(Stream()));
    const ScopedOverride<entry::cuExternalMemoryGetMappedBuffer> map(
        [](CUdeviceptr *address, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *) {
            *address = 4096;
            return CUDA_SUCCESS;
        });
    const ScopedOverride<entry::cuMemFree> free([](CUdeviceptr) { return CUDA_SUCCESS; });
    const auto native = static_cast<CUexternalMemory>(handle_of(48));
    const auto memory = ExternalMemory::borrow(context, native, 4096);
    failures.expect("ExternalBuffer::as: size 12 is not a multiple of the element size of 8 bytes",
                    ok(memory.map_buffer(0, 12)).as<double>());
}

#else

// As long as it lives, this process gets no file descriptor.
class NoFreeDescriptor {
  public:
    NoFreeDescriptor() {
        REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const rlimit none{3, before_.rlim_max};
        REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    }
    ~NoFreeDescriptor() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoFreeDescriptor(const NoFreeDescriptor &) = delete;
    NoFreeDescriptor &operator=(const NoFreeDescriptor &) = delete;

  private:
    rlimit before_{};
};

std::array<UniqueFd, 2> connected(int type) {
    int both[2];
    REQUIRE(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, both) == 0);
    return {UniqueFd(both[0]), UniqueFd(both[1])};
}

// What receive_fd() returns for a message that send_fd() did not send.
Result<UniqueFd> received(std::string_view bytes, std::size_t payload, int type = SOCK_SEQPACKET) {
    const auto [here, there] = connected(type);
    REQUIRE(send(here.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    std::vector<std::byte> into(payload);
    return receive_fd(there.get(), into);
}

// A header that states a payload of 8 bytes, and a payload.
std::string message_of(std::size_t payload) {
    return std::string("cushimfd\10\0\0\0\0\0\0\0", 16) + std::string(payload, '.');
}

void check_channel(Failures &failures) {
    const UniqueFd file = null_device();
    const auto number = [](const UniqueFd &fd) { return std::to_string(fd.get()); };

    failures.expect("send_fd: file descriptor -1 is not open", send_fd(-1, file.get()));
    const UniqueFd internet(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    failures.expect(
        ("receive_fd: socket " + number(internet) + " has address family 2, expected AF_UNIX (1)")
            .c_str(),
        receive_fd(internet.get()));
    auto [here, there] = connected(SOCK_STREAM);
    failures.expect("send_fd: file descriptor -1 is not open", send_fd(here.get(), -1));
    const timeval soon{0, 20'000};
    REQUIRE(setsockopt(here.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) == 0);
    failures.expect(
        "receive_fd: no complete message arrived within 20 ms (SO_RCVTIMEO); reconnect, with a "
        "longer timeout (recvmsg; CUDA_ERROR_TIMEOUT)",
        receive_fd(here.get()));
    REQUIRE(fcntl(here.get(), F_SETFL, O_NONBLOCK) == 0);
    failures.expect("receive_fd: the socket is not ready; call poll() first, or clear O_NONBLOCK "
                    "(recvmsg; CUDA_ERROR_TIMEOUT)",
                    receive_fd(here.get()));
    there.reset();
    failures.expect(("send_fd: socket " + number(here) +
                     ": Broken pipe; the other process has closed its end (sendmsg; "
                     "CUDA_ERROR_OPERATING_SYSTEM)")
                        .c_str(),
                    send_fd(here.get(), file.get()));
    failures.expect("receive_fd: the other process closed the socket before it sent a message "
                    "(recvmsg; CUDA_ERROR_OPERATING_SYSTEM)",
                    receive_fd(here.get()));

    failures.expect(
        "receive_fd: the received message does not start with \"cushimfd\"; send it with send_fd()",
        received("a message of another program", 8, SOCK_STREAM));
    failures.expect("receive_fd: the sender's payload has size 8, expected 9 bytes; send and "
                    "receive payloads of the same size",
                    received(message_of(8), 9));
    failures.expect("receive_fd: the message ended after 20 of 24 bytes (header 16, payload 8); "
                    "check whether the sender was interrupted",
                    received(message_of(4), 8));
    failures.expect("receive_fd: the message is longer than its header states, 24 bytes (header "
                    "16, payload 8); send each payload with its own send_fd()",
                    received(message_of(9), 8));
    failures.expect("receive_fd: the number of file descriptors in the message is 0, expected 1; "
                    "send the message with send_fd()",
                    received(message_of(8), 8));
    const auto [from, to] = connected(SOCK_STREAM);
    REQUIRE(send_fd(from.get(), file.get()));
    const NoFreeDescriptor none;
    failures.expect("receive_fd: no free file descriptor (EMFILE): RLIMIT_NOFILE of this process "
                    "is 3; close descriptors or raise the limit",
                    receive_fd(to.get()), ErrorKind::out_of_memory);
    failures.expect("UniqueFd::duplicate: no free file descriptor (EMFILE): RLIMIT_NOFILE of this "
                    "process is 3; close descriptors or raise the limit",
                    file.duplicate(), ErrorKind::out_of_memory);
}

void check_memory(Failures &failures, const Context &context) {
    using Source = ExternalMemorySource;
    const auto import_of = [&](Source &&source, std::size_t size = 4096) {
        return ExternalMemory::import_from(context, std::move(source), size);
    };
    failures.expect(
        "ExternalMemory::import_from: CUDA rejected the handle of "
        "ExternalMemorySource::opaque_fd, size 4096 bytes; it must be memory of that kind and "
        "size, exported from the device of the context (cuImportExternalMemory: "
        "CUDA_ERROR_UNKNOWN)",
        import_of(Source::opaque_fd(null_device())));
    failures.expect(
        "ExternalMemory::import_from: device 0 does not support ExternalMemorySource::nvscibuf "
        "(cuImportExternalMemory: CUDA_ERROR_NOT_SUPPORTED)",
        import_of(Source::nvscibuf(&failures)));
    failures.expect("ExternalMemory::import_from: the UniqueFd is empty",
                    import_of(Source::opaque_fd({})));
    failures.expect("ExternalMemory::import_from: the size is 0; pass the size of the whole memory "
                    "object",
                    import_of(Source::opaque_fd({}), 0));
    failures.expect("ExternalMemory::adopt: the handle is null",
                    ExternalMemory::adopt(context, nullptr, 1));

    auto exported = ok(export_memory(1));
    REQUIRE(exported.size() == 2 << 20);
    const auto memory = ok(import_of(exported.source(), 4 << 20));
    failures.expect(
        "ExternalMemory::map_buffer: range [1, 5000001) exceeds the imported memory of 4194304 "
        "bytes",
        memory.map_buffer(1, 5'000'000));
    failures.expect(
        "ExternalMemory::map_buffer: range [2097152, 2101248) of the import of 4194304 bytes "
        "could not be mapped; the exported memory may be smaller than the import; import it with "
        "its actual size (cuExternalMemoryGetMappedBuffer: CUDA_ERROR_INVALID_VALUE)",
        memory.map_buffer(2 << 20, 4096));
    failures.expect("ExternalMemory::map_mipmapped: the number of levels is 0, minimum 1",
                    memory.map_mipmapped(0, image_of(CU_AD_FORMAT_FLOAT, 64), 0));
    failures.expect("ExternalMemory::map_mipmapped: NumChannels is 3, expected 1, 2 or 4 "
                    "(cuExternalMemoryGetMappedMipmappedArray: CUDA_ERROR_INVALID_VALUE)",
                    memory.map_mipmapped(0, image_of(CU_AD_FORMAT_FLOAT, 64, 32, 3)));
    const auto buffer = ok(memory.map_buffer(0, 12));
    failures.expect("ExternalBuffer::as: size 12 is not a multiple of the element size of 8 bytes",
                    buffer.as<double>());
    failures.expect("ExternalBuffer::release_after: the Stream is empty",
                    buffer.release_after(Stream()));
    const auto image = ok(memory.map_mipmapped(0, image_of(CU_AD_FORMAT_FLOAT, 64)));
    failures.expect("ExternalMipmappedArray::level: level 1 is out of range; the number of levels "
                    "is 1",
                    image.level(1));
    failures.expect("ExternalMipmappedArray::release_after: the Stream is empty",
                    image.release_after(Stream()));
}

void check_imports(Failures &failures, const Context &context) {
    failures.expect("BinarySemaphore::import_fd: CUDA rejected the handle; it must be a semaphore "
                    "of this kind, exported from the device of the context "
                    "(cuImportExternalSemaphore: CUDA_ERROR_UNKNOWN)",
                    BinarySemaphore::import_fd(context, null_device()));
    failures.expect("TimelineSemaphore::import_fd: the UniqueFd is empty",
                    TimelineSemaphore::import_fd(context, UniqueFd()));
    const SimulatedSemaphore theirs(0);
    const auto timeline = ok(TimelineSemaphore::import_fd(context, theirs.exported()));
    const Context other = ok(Context::create(ok(Device::get(0))));
    std::array<char, 400> text{};
    std::snprintf(text.data(), text.size(),
                  "TimelineSemaphore::signal: the semaphore belongs to context %p (device 0), the "
                  "stream to context %p (device 0); use a stream of context %p "
                  "(cuSignalExternalSemaphoresAsync: CUDA_ERROR_INVALID_HANDLE)",
                  static_cast<void *>(context.native()), static_cast<void *>(other.native()),
                  static_cast<void *>(context.native()));
    failures.expect(text.data(), timeline.signal(ok(Stream::create(other)), 1));
}

void check_descriptors(Failures &failures, const Context &context) {
    check_channel(failures);
    check_memory(failures, context);
    check_imports(failures, context);
}

#endif

void check_imports_of_windows(Failures &failures, const Context &context) {
    const auto check = [&](const std::string &function, const char *instead, const auto &result) {
#ifdef _WIN32
        (void)instead;
        failures.expect((function + ": the Windows handle is null and has no name").c_str(),
                        result);
#else
        failures.expect(function + ": " + instead, result, ErrorKind::unsupported_platform);
#endif
    };
    const auto null = Win32Handle::handle(nullptr);
    check("ExternalMemory::import_from",
          "Windows handles are not supported on this platform; use "
          "ExternalMemorySource::opaque_fd()",
          ExternalMemory::import_from(context, ExternalMemorySource::d3d12_heap(null), 4096));
    const char *const binary =
        "Windows handles are not supported on this platform; use BinarySemaphore::import_fd()";
    check("BinarySemaphore::import_win32", binary, BinarySemaphore::import_win32(context, null));
    check("BinarySemaphore::import_win32_kmt", binary,
          BinarySemaphore::import_win32_kmt(context, nullptr));
    const char *const timeline =
        "Windows handles are not supported on this platform; use TimelineSemaphore::import_fd()";
    check("TimelineSemaphore::import_win32", timeline,
          TimelineSemaphore::import_win32(context, null));
    check("TimelineSemaphore::import_d3d12_fence", timeline,
          TimelineSemaphore::import_d3d12_fence(context, null));
    check("TimelineSemaphore::import_d3d11_fence", timeline,
          TimelineSemaphore::import_d3d11_fence(context, null));
    const char *const mutex =
        "keyed mutexes exist only on Windows; use BinarySemaphore or TimelineSemaphore";
    check("KeyedMutex::import_d3d11", mutex, KeyedMutex::import_d3d11(context, null));
    check("KeyedMutex::import_d3d11_kmt", mutex, KeyedMutex::import_d3d11_kmt(context, nullptr));
}

void check_semaphores(Failures &failures, const Context &context) {
    const Stream stream = ok(Stream::create(context));
    int fence = 0;
    const auto semaphore = static_cast<CUexternalSemaphore>(handle_of(48));
    failures.expect("BinarySemaphore::adopt: the handle is null",
                    BinarySemaphore::adopt(context, nullptr));
    failures.expect("BinarySemaphore::signal: the BinarySemaphore is empty",
                    BinarySemaphore().signal(stream));
    failures.expect("BinarySemaphore::wait: the BinarySemaphore is empty",
                    BinarySemaphore().wait(stream));

    failures.expect("TimelineSemaphore::adopt: the Context is empty",
                    TimelineSemaphore::adopt(Context(), semaphore));
    failures.expect("TimelineSemaphore::adopt: the handle is null",
                    TimelineSemaphore::adopt(context, nullptr));
    const auto timeline = TimelineSemaphore::borrow(context, semaphore);
    failures.expect("TimelineSemaphore::signal: the TimelineSemaphore is empty",
                    TimelineSemaphore().signal(stream, 1));
    failures.expect("TimelineSemaphore::wait: the Stream is empty", timeline.wait(Stream(), 1));

    failures.expect("KeyedMutex::adopt: the handle is null", KeyedMutex::adopt(context, nullptr));
    failures.expect("KeyedMutex::signal: the KeyedMutex is empty", KeyedMutex().signal(stream, 7));
    {
        const ScopedOverride<entry::cuWaitExternalSemaphoresAsync> late(
            [](const CUexternalSemaphore *, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *,
               unsigned int, CUstream) { return CUDA_ERROR_TIMEOUT; });
        failures.expect("KeyedMutex::wait: the mutex was not released with key 7 within 250 ms "
                        "(cuWaitExternalSemaphoresAsync: CUDA_ERROR_TIMEOUT)",
                        KeyedMutex::borrow(context, semaphore).wait(stream, 7, 250));
    }

    failures.expect("NvSciSemaphore::adopt: the handle is null",
                    NvSciSemaphore::adopt(context, nullptr));
    failures.expect("NvSciSemaphore::import_from: device 0 does not support "
                    "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC (cuImportExternalSemaphore: "
                    "CUDA_ERROR_NOT_SUPPORTED)",
                    NvSciSemaphore::import_from(context, &fence));
    failures.expect("NvSciSemaphore::signal: the NvSciSemaphore is empty",
                    NvSciSemaphore().signal(stream, &fence));
    failures.expect("NvSciSemaphore::wait: the NvSciSyncFence is null",
                    NvSciSemaphore::borrow(context, semaphore).wait(stream, nullptr));

    failures.expect(
        "signal_semaphores: signals[1] is empty",
        signal_semaphores(stream, {timeline.signaling(1), BinarySemaphore().signaling()}));
    failures.expect("wait_semaphores: the Stream is empty", wait_semaphores(Stream(), {}));
}

void check_ipc(Failures &failures, const Context &context) {
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 100));
    const auto exported = ok(IpcExport::of(context, buffer.span()));
    auto pooled = ok(DeviceBuffer<int>::allocate_async(ok(Stream::create(context)), 100));
    failures.expect("IpcExport::of: pool memory has no IPC handle; create the pool exportable, and "
                    "use MemoryPool::export_fd() and export_pointer()",
                    IpcExport::of(context, pooled.span()));
    failures.expect("IpcExport::of: range [0, 8000) exceeds the allocation of 400 bytes",
                    IpcExport::of(context, DeviceSpan<int>(buffer.native(), 2000)));
    failures.expect("IpcExport::of: address 0x10 is not in device memory",
                    IpcExport::of(context, DeviceSpan<int>(16, 100)));
    failures.expect(
        "IpcExport::from_handle: 18446744073709551615 bytes at offset 1 exceed the address space",
        IpcExport::from_handle(IpcMemHandle(), SIZE_MAX, 1));
    const std::array<std::byte, 79> bytes{};
    failures.expect(
        "IpcExport::from_bytes: the number of bytes is 79, expected 80 (IpcExport::byte_count)",
        IpcExport::from_bytes(bytes));
    failures.expect("IpcExport::of: the size is 0", IpcExport::of(context, DeviceSpan<int>()));
    failures.expect("IpcMemory::open: the IpcExport is empty; create it with IpcExport::of(), "
                    "from_handle() or from_bytes()",
                    IpcMemory::open(context, IpcExport()));
    failures.expect("IpcMemory::open: the handle was exported by this process; use the original "
                    "object (cuIpcOpenMemHandle_v2: CUDA_ERROR_INVALID_CONTEXT)",
                    IpcMemory::open(context, exported));
    failures.expect("IpcMemory::open: the handle is invalid, or the exporter has freed the memory "
                    "or has exited (cuIpcOpenMemHandle_v2: CUDA_ERROR_INVALID_VALUE)",
                    IpcMemory::open(context, ok(IpcExport::from_handle({}, 1))));
    failures.expect("IpcMemory::release_after: the Stream is empty",
                    IpcMemory().release_after(Stream()));
    {
        static CUdeviceptr address;
        address = buffer.native();
        const ScopedOverride<entry::cuIpcOpenMemHandle> open(
            [](CUdeviceptr *opened, CUipcMemHandle, unsigned int) {
                *opened = address;
                return CUDA_SUCCESS;
            });
        const ScopedOverride<entry::cuIpcCloseMemHandle> close(
            [](CUdeviceptr) { return CUDA_SUCCESS; });
        const auto memory = ok(IpcMemory::open(context, ok(IpcExport::from_handle({}, 8, 2))));
        failures.expect("IpcMemory::as: size 8 is not a multiple of the element size of 16 bytes",
                        memory.as<std::array<float, 4>>());
        failures.expect("IpcMemory::open: range [396, 404) exceeds the allocation of 400 bytes",
                        IpcMemory::open(context, ok(IpcExport::from_handle({}, 8, 396))));
    }
    failures.expect("export_event: the Event is empty", export_event(context, Event()));
    failures.expect("export_event: the event cannot be exported; create it with "
                    "Event::interprocess() (cuIpcGetEventHandle: CUDA_ERROR_INVALID_HANDLE)",
                    export_event(context, ok(Event::create(context))));
    failures.expect("open_event: the Context is empty", open_event(Context(), IpcEventHandle()));
    failures.expect("open_event: the handle is invalid, or the event was destroyed before it was "
                    "opened (cuIpcOpenEventHandle: CUDA_ERROR_MAP_FAILED)",
                    open_event(context, IpcEventHandle()));
}

} // namespace

void api_test::expect_interop_failures(Failures &failures) {
    const Context context = context_after_restart("");
    check_descriptors(failures, context);
    check_imports_of_windows(failures, context);
    check_semaphores(failures, context);
    check_ipc(failures, context);
}
