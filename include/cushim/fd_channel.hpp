/* Sends file descriptors to another process over a Unix socket: exported memory, pools, resources
 * of other APIs. A payload of bytes accompanies the descriptor, to describe it.
 *
 *     const Memory description{.size = size};
 *     CUSHIM_TRY_VOID(send_fd(socket, fd.get(), std::as_bytes(std::span(&description, 1))));
 *
 *     Memory description;                                             in the other process
 *     const auto bytes = std::as_writable_bytes(std::span(&description, 1));
 *     CUSHIM_TRY(UniqueFd fd, receive_fd(socket, bytes));
 *
 * The receiver states the number of bytes that it expects. It gets exactly these and exactly one
 * descriptor, or an error; additional descriptors are closed. The payload comes from another
 * process: validate it.
 *
 * A message is the 8 bytes "cushimfd", the size of the payload as a 64-bit integer in native byte
 * order, and the payload. The descriptor is attached to the first byte (SCM_RIGHTS). Programs in
 * other languages can use this protocol.
 *
 * Sockets must be of the family AF_UNIX: streams (also of socketpair), or with messages. The caller
 * keeps them. SO_SNDTIMEO and SO_RCVTIMEO limit the time of the whole message, however it is split
 * and whatever signals arrive; with O_NONBLOCK a call never waits. After an error the start of the
 * next message is unknown: close the socket.
 *
 * Threads: any; one thread at a time per socket and direction. CUDA is not needed.
 * Errors: invalid_argument with the numbers if the socket or the descriptor is not one, or if the
 * message is not the expected one; status 909 (CUDA_ERROR_TIMEOUT) after the socket's time limit;
 * unsupported_platform on Windows; otherwise status 304 (CUDA_ERROR_OPERATING_SYSTEM) with the
 * system's message, for example if the socket is closed.
 */
#ifndef CUSHIM_FD_CHANNEL_HPP
#define CUSHIM_FD_CHANNEL_HPP

#include <cstddef>
#include <span>

#include <cushim/unique_fd.hpp>

namespace cushim {

// Sends a descriptor with a payload. The caller keeps the descriptor, and may close it after the
// call. Raises no SIGPIPE. sendmsg.
CUSHIM_API Result<void> send_fd(int socket, int fd,
                                std::span<const std::byte> payload = {}) noexcept;

// Receives a descriptor, and fills `payload`; on failure its bytes are unspecified. The descriptor
// is closed on exec. recvmsg.
CUSHIM_API Result<UniqueFd> receive_fd(int socket, std::span<std::byte> payload = {}) noexcept;

} // namespace cushim

#endif
