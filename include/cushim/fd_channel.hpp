/* Sends file descriptors to another process over a Unix socket: memory of cuMemCreate's, of pools, of
 * other APIs. Bytes travel along, to say what the descriptor is: its size, say.
 *
 *     const Memory description{.size = size};
 *     CUSHIM_TRY_VOID(send_fd(socket, fd.get(), std::as_bytes(std::span(&description, 1))));
 *
 *     Memory description;                                             in the other process
 *     CUSHIM_TRY(UniqueFd fd, receive_fd(socket, std::as_writable_bytes(std::span(&description, 1))));
 *
 * The receiver states how many bytes it expects, and gets exactly these and exactly one descriptor, or an
 * error: what arrives besides is closed. What the bytes say is the other process's word: check it.
 *
 * A message is 8 bytes "cushimfd", the number of bytes that follow as a 64-bit number in the machine's order,
 * and these bytes; the descriptor comes with the first of them (SCM_RIGHTS). Programs in other languages can
 * speak it.
 *
 * Sockets are of the AF_UNIX family, streams (also those of socketpair) or with messages; they stay the
 * caller's. Calls wait as the socket is set to: SO_SNDTIMEO or SO_RCVTIMEO limits the time of the whole
 * message, whatever pieces it comes in and whatever signals arrive; O_NONBLOCK never waits. After an error it
 * is unknown where the next message begins: close the socket.
 *
 * Errors: invalid_argument with the numbers for what is no such socket, no descriptor, and for a message that
 * is not what was expected; status 909 (CUDA_ERROR_TIMEOUT) where the socket's time is up; status 304
 * (CUDA_ERROR_OPERATING_SYSTEM) with the system's message for everything else, such as a closed socket;
 * unsupported_platform on Windows.
 *
 * Threads: any; one at a time for each socket and direction. No CUDA is needed.
 */
#ifndef CUSHIM_FD_CHANNEL_HPP
#define CUSHIM_FD_CHANNEL_HPP

#include <cstddef>
#include <span>

#include <cushim/unique_fd.hpp>

namespace cushim {

// The descriptor stays the caller's, who may close it at once. Raises no SIGPIPE.
CUSHIM_API Result<void> send_fd(int socket, int fd,
                                std::span<const std::byte> payload = {}) noexcept;

// Fills the payload; its bytes are not to be used where this fails. The descriptor is closed in programs
// that this one executes (exec).
CUSHIM_API Result<UniqueFd> receive_fd(int socket, std::span<std::byte> payload = {}) noexcept;

} // namespace cushim

#endif
