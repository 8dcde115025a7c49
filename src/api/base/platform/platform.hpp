// Operating system services for the wrappers. Only the sources of this folder include system
// headers.
#pragma once

#include <cushim/result.hpp>
#include <cushim/text.hpp>
#include <cushim/unique_fd.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cushim::detail {

// unsupported_platform if memory cannot be shared by file descriptors, or by Windows handles:
// `otherwise` is then the message.
Result<void> require_descriptors(
    const char *otherwise = "file descriptors are not supported on Windows; use Windows handles "
                            "(win32, export_win32(), import_win32())") noexcept;
Result<void>
require_nt_handles(const char *otherwise =
                       "Windows handles are not supported on this platform; use file descriptors "
                       "(posix_fd, export_fd(), import_fd())") noexcept;

// The calling thread, as the driver's log names it.
unsigned long long thread_number() noexcept;

// The system's text for an errno: "No such file or directory".
Text errno_text(int code) noexcept;

// File descriptors. Without them, unsupported_platform.

// Never changes errno; errors are ignored, for use in destructors.
void close_descriptor(int descriptor) noexcept;
// Another descriptor of the same open file, not inherited across exec.
Result<int> duplicate_descriptor(int descriptor) noexcept;
// The same for a callee that may close it on failure: uses a number that is not reused soon.
Result<int> duplicate_to_lend(int descriptor) noexcept;
// invalid_argument with the number unless the descriptor is open.
Result<void> check_descriptor(int descriptor) noexcept;
// Whether both refer to the same open file, like a descriptor and its duplicate; false if one is
// closed.
bool is_same_open_file(int descriptor, int other) noexcept;

// Unix sockets (posix_socket.cpp); otherwise unsupported_platform.

// Two ranges that are sent as one or filled one after the other.
struct SocketBytes {
    std::span<std::byte> first;
    std::span<std::byte> second;
};

// Received descriptors: the first is kept, others are closed.
struct ArrivedDescriptors {
    UniqueFd first;
    unsigned int count = 0;
};

// Whether the socket may split messages; invalid_argument if it is not a Unix socket.
Result<bool> is_stream_socket(int socket) noexcept;

// When a message must be complete, however many waits and signals occur.
struct SocketDeadline {
    const char *option = "";             // the socket option that limits the time
    std::int64_t limit_ms = 0;           // its value
    bool waits = true;                   // false for a non-blocking socket
    std::int64_t ends = 0;               // nanoseconds of the steady clock
    Result<void> check() const noexcept; // CUDA_ERROR_TIMEOUT after the deadline
};
// From now, by the socket's own timeout.
Result<SocketDeadline> sending_deadline(int socket) noexcept;
Result<SocketDeadline> receiving_deadline(int socket) noexcept;

// Blocks until the system has accepted some bytes; returns how many. Sends a descriptor unless it
// is -1. Errors: CUDA_ERROR_TIMEOUT, CUDA_ERROR_OPERATING_SYSTEM.
Result<std::size_t> send_some(int socket, SocketBytes bytes, int descriptor,
                              const SocketDeadline &deadline) noexcept;
// Blocks until bytes are available; 0 bytes at the end. Fails if descriptors are lost.
struct Received {
    std::size_t size = 0;
    bool cut = false; // truncated: the rest did not fit and is lost
};
Result<Received> receive_some(int socket, SocketBytes bytes, ArrivedDescriptors &arrived,
                              const SocketDeadline &deadline) noexcept;

} // namespace cushim::detail
