// The platform seam: everything that the wrappers ask of the operating system. Only
// platform_posix*.cpp and platform_windows.cpp include system headers.
#pragma once

#include <cushim/result.hpp>
#include <cushim/unique_fd.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cushim::detail {

// unsupported_platform where memory is not shared in this way.
Result<void> require_descriptors() noexcept;
Result<void> require_nt_handles() noexcept;

// File descriptors. Where there are none, unsupported_platform.

// Never changes errno; what does not work is no concern of a destructor.
void close_descriptor(int descriptor) noexcept;
// Another descriptor of the same open file, not inherited by programs that are executed.
Result<int> duplicate_descriptor(int descriptor) noexcept;
// The same, for somebody who may close it unasked: under a number that is not soon given out again.
Result<int> duplicate_to_lend(int descriptor) noexcept;
// invalid_argument with the number unless it is open in this process.
Result<void> check_descriptor(int descriptor) noexcept;
// Whether both are one open file, as a descriptor and its duplicate are; false where one is closed.
bool is_same_open_file(int descriptor, int other) noexcept;

// Unix sockets (platform_posix_socket.cpp); elsewhere unsupported_platform.

// Two ranges that are sent as one, or filled one after the other.
struct SocketBytes {
    std::span<std::byte> first;
    std::span<std::byte> second;
};

// Descriptors that arrived: the first is kept, others are closed.
struct ArrivedDescriptors {
    UniqueFd first;
    unsigned int count = 0;
};

// Whether what is sent may arrive in pieces; invalid_argument for what is no such socket.
Result<bool> is_stream_socket(int socket) noexcept;

// When a message must be complete, however many waits and signals there are on the way.
struct SocketDeadline {
    bool waits = true;                   // false for a socket that is not to block
    std::int64_t ends = 0;               // in nanoseconds of the steady clock
    Result<void> check() const noexcept; // CUDA_ERROR_TIMEOUT once it is over
};
// From now on, by the socket's own time limit.
Result<SocketDeadline> sending_deadline(int socket) noexcept;
Result<SocketDeadline> receiving_deadline(int socket) noexcept;

// Waits until the system has taken some bytes, and returns how many; with a descriptor unless that
// is -1.
// Errors: CUDA_ERROR_TIMEOUT, CUDA_ERROR_OPERATING_SYSTEM.
Result<std::size_t> send_some(int socket, SocketBytes bytes, int descriptor,
                              const SocketDeadline &deadline) noexcept;
// Waits until some bytes are there; none at the end. Where descriptors are lost, that is an error.
struct Received {
    std::size_t size = 0;
    bool cut = false; // there was no room for the end of it, which is lost
};
Result<Received> receive_some(int socket, SocketBytes bytes, ArrivedDescriptors &arrived,
                              const SocketDeadline &deadline) noexcept;

// Files.

// An empty file of a new name, that only this user can open. Throws std::bad_alloc.
Result<std::string> make_temporary_file();
void remove_file(const char *path) noexcept;

} // namespace cushim::detail
