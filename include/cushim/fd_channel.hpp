/* Sends file descriptors to another process over a Unix socket: those of exported memory, of
 * exported pools, and of other APIs. Each descriptor is sent with a payload, bytes that describe
 * it.
 *
 *     const Memory description{.size = size};
 *     CUSHIM_TRY_VOID(send_fd(socket, fd.get(), std::as_bytes(std::span(&description, 1))));
 *
 *     Memory description;                                             in the other process
 *     const auto bytes = std::as_writable_bytes(std::span(&description, 1));
 *     CUSHIM_TRY(UniqueFd fd, receive_fd(socket, bytes));
 *
 * The receiver states the size of the payload that it expects. It receives exactly one descriptor
 * and a payload of that size, or an error. Additional descriptors are closed. Validate the payload:
 * it comes from another process.
 *
 * A message consists of the 8 bytes "cushimfd", the size of the payload as a 64-bit integer in
 * native byte order, and the payload. The descriptor is attached to the first byte (SCM_RIGHTS).
 * Programs in other languages can use this protocol.
 *
 * Sockets must be connected Unix sockets (AF_UNIX), for example of socketpair(), of type
 * SOCK_STREAM, SOCK_SEQPACKET or SOCK_DGRAM. The caller keeps them. SO_SNDTIMEO and SO_RCVTIMEO
 * limit the time for a whole message; signals do not extend it. With O_NONBLOCK a call never waits.
 * After an error, close the socket: the start of the next message is unknown.
 *
 * Threads: any; one thread at a time per socket and direction. CUDA is not needed.
 * Errors: invalid_argument if `socket` is not a Unix socket, if `fd` is not open,
 * or if the message does not have the expected format, size or number of descriptors;
 * CUDA_ERROR_TIMEOUT (909) after the time limit of the socket; out_of_memory if the process has
 * reached its limit of descriptors; unsupported_platform on Windows; otherwise
 * CUDA_ERROR_OPERATING_SYSTEM (304) with the system's message, for example if the socket is closed.
 */
#ifndef CUSHIM_FD_CHANNEL_HPP
#define CUSHIM_FD_CHANNEL_HPP

#include <cstddef>
#include <span>

#include <cushim/unique_fd.hpp>

namespace cushim {

// Sends a descriptor with a payload. The caller keeps the descriptor and may close it after the
// call. Does not raise SIGPIPE. sendmsg.
CUSHIM_API Result<void> send_fd(int socket, int fd,
                                std::span<const std::byte> payload = {}) noexcept;

// Receives a descriptor and its payload. The descriptor is closed on exec. If the call fails, the
// bytes of `payload` are unspecified. recvmsg.
CUSHIM_API Result<UniqueFd> receive_fd(int socket, std::span<std::byte> payload = {}) noexcept;

} // namespace cushim

#endif
