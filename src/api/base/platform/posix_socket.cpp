#include "platform.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <cushim/driver_table.hpp>

#include "base/ranges.hpp"

namespace cushim::detail {
namespace {

const char *remedy(int code) noexcept {
    switch (code) {
    case EPIPE:
    case ECONNRESET:
        return "; the other process has closed its end";
    case EMSGSIZE:
        return "; raise SO_SNDBUF, or use SOCK_STREAM";
    case ETOOMANYREFS:
        return "; the other process must receive earlier descriptors first";
    default:
        return "";
    }
}

// The error of a socket call.
Error socket_error(int socket, const char *call, int code) noexcept {
    char text[200];
    std::snprintf(text, sizeof text, "socket %d: %s%s", socket, errno_text(code).c_str(),
                  remedy(code));
    return Error::status(Api::loader, CUDA_ERROR_OPERATING_SYSTEM, call, text);
}

Error too_late(const SocketDeadline &deadline, const char *call) noexcept {
    char text[200] = "the socket is not ready; call poll() first, or clear O_NONBLOCK";
    if (deadline.waits) {
        std::snprintf(
            text, sizeof text,
            "no complete message %s within %lld ms (%s); reconnect, with a longer timeout",
            std::strcmp(deadline.option, "SO_SNDTIMEO") == 0 ? "was sent" : "arrived",
            static_cast<long long>(deadline.limit_ms), deadline.option);
    }
    return Error::status(Api::loader, CUDA_ERROR_TIMEOUT, call, text);
}

constexpr std::int64_t nanosecond = 1, microsecond = 1000 * nanosecond,
                       millisecond = 1000 * microsecond, second = 1000 * millisecond;

std::int64_t steady_now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// SO_SNDTIMEO or SO_RCVTIMEO; 0 means no timeout.
Result<SocketDeadline> deadline_of(int socket, int option) noexcept {
    timeval limit{};
    socklen_t size = sizeof limit;
    if (getsockopt(socket, SOL_SOCKET, option, &limit, &size) != 0) {
        return socket_error(socket, "getsockopt", errno);
    }
    const int flags = fcntl(socket, F_GETFL);
    if (flags < 0) {
        return socket_error(socket, "fcntl", errno);
    }
    SocketDeadline deadline;
    deadline.option = option == SO_SNDTIMEO ? "SO_SNDTIMEO" : "SO_RCVTIMEO";
    deadline.limit_ms = limit.tv_sec * std::int64_t(1000) + limit.tv_usec / 1000;
    deadline.waits = (flags & O_NONBLOCK) == 0;
    const std::int64_t now = steady_now(), farthest = std::numeric_limits<std::int64_t>::max();
    const bool is_limited = limit.tv_sec != 0 || limit.tv_usec != 0;
    const bool is_far = limit.tv_sec >= (farthest - now) / second - 1;
    deadline.ends = is_limited && !is_far
                        ? now + limit.tv_sec * second + limit.tv_usec * microsecond
                        : farthest;
    return deadline;
}

// Blocks until the socket is ready. Signals neither end nor prolong the wait.
Result<void> wait_until(int socket, short events, const SocketDeadline &deadline,
                        const char *call) noexcept {
    constexpr std::int64_t longest = 60 * second; // poll takes an int of milliseconds
    for (;;) {
        const std::int64_t left = deadline.waits ? deadline.ends - steady_now() : 0;
        if (left <= 0) {
            return too_late(deadline, call);
        }
        const std::int64_t step = std::min(left, longest);
        pollfd entry = {socket, events, 0};
        const int ready = poll(&entry, 1, static_cast<int>((step + millisecond - 1) / millisecond));
        if (ready > 0) {
            return {}; // also on an error, which the call will report
        }
        if (ready < 0 && errno != EINTR) {
            return socket_error(socket, "poll", errno);
        }
    }
}

// `call` must be non-blocking.
template <class Call>
Result<std::size_t> repeat(const char *name, int socket, short events,
                           const SocketDeadline &deadline, Call call) noexcept {
    for (;;) {
        const ssize_t size = call();
        if (size >= 0) {
            return static_cast<std::size_t>(size);
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            CUSHIM_TRY_VOID(wait_until(socket, events, deadline, name));
        } else if (errno != EINTR) {
            return socket_error(socket, name, errno);
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
    // Room for more than one descriptor and other control data, so that surplus ones are detected.
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

// The process or Message::control was too small for all of them.
Error lost_descriptors(int socket) noexcept {
    const auto copy = duplicate_descriptor(socket);
    if (!copy) {
        return copy.error();
    }
    close_descriptor(*copy);
    return Error::make({.kind = ErrorKind::out_of_memory,
                        .detail = "file descriptors were lost: the message has too many, "
                                  "expected 1"});
}

} // namespace

Result<bool> is_stream_socket(int socket) noexcept {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0) {
        return errno == EBADF ? invalid_argument("file descriptor %d is not open", socket)
                              : invalid_argument("file descriptor %d is not a Unix socket: %s",
                                                 socket, errno_text(errno).c_str());
    }
    if (address.ss_family != AF_UNIX) {
        return invalid_argument("socket %d has address family %d, expected AF_UNIX (%d)", socket,
                                address.ss_family, AF_UNIX);
    }
    int type = 0;
    size = sizeof type;
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        return socket_error(socket, "getsockopt", errno);
    }
    return type == SOCK_STREAM;
}

Result<void> SocketDeadline::check() const noexcept {
    if (waits && steady_now() >= ends) {
        return too_late(*this, "poll");
    }
    return {};
}

Result<SocketDeadline> sending_deadline(int socket) noexcept {
    return deadline_of(socket, SO_SNDTIMEO);
}

Result<SocketDeadline> receiving_deadline(int socket) noexcept {
    return deadline_of(socket, SO_RCVTIMEO);
}

Result<std::size_t> send_some(int socket, SocketBytes bytes, int descriptor,
                              const SocketDeadline &deadline) noexcept {
    Message message(bytes);
    if (descriptor >= 0) {
        attach(message, descriptor);
    }
    return repeat("sendmsg", socket, POLLOUT, deadline,
                  [&] { return sendmsg(socket, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

Result<Received> receive_some(int socket, SocketBytes bytes, ArrivedDescriptors &arrived,
                              const SocketDeadline &deadline) noexcept {
    Message message(bytes);
    CUSHIM_TRY(const std::size_t size, repeat("recvmsg", socket, POLLIN, deadline, [&] {
                   message.header.msg_control = message.control;
                   message.header.msg_controllen = sizeof message.control;
                   return recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
               }));
    take_all(message, arrived);
    if ((message.header.msg_flags & MSG_CTRUNC) != 0) {
        return lost_descriptors(socket);
    }
    return Received{size, (message.header.msg_flags & MSG_TRUNC) != 0};
}

} // namespace cushim::detail
