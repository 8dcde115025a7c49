#include "platform.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>

#include <cushim/driver_table.hpp>

#include "ranges.hpp"

namespace cushim::detail {
namespace {

// What a call on a socket says.
Error socket_error(const char *call, int code) noexcept {
    const bool late = code == EAGAIN || code == EWOULDBLOCK;
    return Error::status(Api::loader, late ? CUDA_ERROR_TIMEOUT : CUDA_ERROR_OPERATING_SYSTEM, call,
                         late ? "the socket's time is up" : std::strerror(code));
}

// Signals of the process do not end a wait.
template <class Call>
Result<std::size_t> repeat(const char *name, Call call) noexcept {
    for (;;) {
        const ssize_t size = call();
        if (size >= 0) {
            return static_cast<std::size_t>(size);
        }
        if (errno != EINTR) {
            return socket_error(name, errno);
        }
    }
}

struct Message {
    explicit Message(SocketBytes bytes) noexcept
        : parts{{bytes.first.data(), bytes.first.size()},
                {bytes.second.data(), bytes.second.size()}} {
        header.msg_iov = parts;
        header.msg_iovlen = 2;
    }
    Message(const Message &) = delete;
    Message &operator=(const Message &) = delete;

    iovec parts[2];
    msghdr header{};
    // More than one descriptor, so that those that are too many are seen; and what else sockets may be set
    // to bring along.
    alignas(cmsghdr) char control[256] = {};
};

void attach(Message &message, int descriptor) noexcept {
    message.header.msg_control = message.control;
    message.header.msg_controllen = CMSG_SPACE(sizeof descriptor);
    cmsghdr *const rights = CMSG_FIRSTHDR(&message.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
}

void take(int descriptor, ArrivedDescriptors &arrived) noexcept {
    UniqueFd owned(descriptor);
    if (arrived.count++ == 0) {
        arrived.first = static_cast<UniqueFd &&>(owned);
    }
}

void take_all(Message &message, ArrivedDescriptors &arrived) noexcept {
    for (cmsghdr *part = CMSG_FIRSTHDR(&message.header); part != nullptr;
         part = CMSG_NXTHDR(&message.header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const unsigned char *data = CMSG_DATA(part);
        for (std::size_t left = part->cmsg_len - CMSG_LEN(0); left >= sizeof(int);
             left -= sizeof(int), data += sizeof(int)) {
            int descriptor = -1;
            std::memcpy(&descriptor, data, sizeof descriptor);
            take(descriptor, arrived);
        }
    }
}

} // namespace

Result<bool> is_stream_socket(int socket) noexcept {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0 ||
        address.ss_family != AF_UNIX) {
        return invalid_argument("%d is no Unix socket", socket);
    }
    int type = 0;
    size = sizeof type;
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        return socket_error("getsockopt", errno);
    }
    return type == SOCK_STREAM;
}

Result<std::size_t> send_some(int socket, SocketBytes bytes, int descriptor) noexcept {
    Message message(bytes);
    if (descriptor >= 0) {
        attach(message, descriptor);
    }
    return repeat("sendmsg", [&] { return sendmsg(socket, &message.header, MSG_NOSIGNAL); });
}

Result<Received> receive_some(int socket, SocketBytes bytes, ArrivedDescriptors &arrived) noexcept {
    Message message(bytes);
    CUSHIM_TRY(const std::size_t size, repeat("recvmsg", [&] {
                   message.header.msg_control = message.control;
                   message.header.msg_controllen = sizeof message.control;
                   return recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
               }));
    take_all(message, arrived);
    if ((message.header.msg_flags & MSG_CTRUNC) != 0) {
        return Error::make({.kind = ErrorKind::out_of_memory,
                            .detail = "file descriptors were lost: they were too many, for the "
                                      "message or for the process"});
    }
    return Received{size, (message.header.msg_flags & MSG_TRUNC) != 0};
}

} // namespace cushim::detail
