// receive_fd: messages from another process. An input is a byte of flags, a byte with the expected
// size of the payload, and packets: a byte with the number of descriptors, a byte with the size,
// the bytes.
#include "fuzz.hpp"

#include <cushim/fd_channel.hpp>

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr unsigned int kind_bits = 3, stays_open = 4, brings_credentials = 8;
constexpr std::size_t most_descriptors = 40;

struct Input {
    const std::uint8_t *data;
    std::size_t size;

    unsigned int byte() {
        if (size == 0) {
            return 0;
        }
        --size;
        return *data++;
    }
};

int kind_of(unsigned int flags) {
    constexpr int kinds[] = {SOCK_STREAM, SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
    return kinds[flags & kind_bits];
}

// Returns false if the socket accepts no more.
bool send_packet(int socket, Input &input, int descriptor) {
    const std::size_t count = std::min<std::size_t>(input.byte(), most_descriptors);
    const std::size_t size = std::min<std::size_t>(input.byte(), input.size);
    iovec bytes = {const_cast<std::uint8_t *>(input.data), size};
    input.data += size;
    input.size -= size;
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr *const rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(CMSG_DATA(rights) + i * sizeof descriptor, &descriptor, sizeof descriptor);
        }
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

// The lowest free number, which changes if a descriptor stays open.
int free_descriptor(int any) {
    const int lowest = dup(any);
    close(lowest);
    return lowest;
}

void receive(int socket, std::size_t size) {
    std::vector<std::byte> payload(size);
    const auto received = cushim::receive_fd(socket, payload);
    if (received) {
        fuzz::require(fcntl(received->get(), F_GETFD) == FD_CLOEXEC);
    } else {
        fuzz::require(*received.error().message() != '\0');
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const int sent = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int before = free_descriptor(sent);
    Input input = {data, size};
    const unsigned int flags = input.byte();
    const std::size_t expected = input.byte();
    int ends[2];
    fuzz::require(socketpair(AF_UNIX, kind_of(flags) | SOCK_CLOEXEC, 0, ends) == 0);
    const int on = (flags & brings_credentials) != 0;
    setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    fcntl(ends[0], F_SETFL, O_NONBLOCK); // an incomplete message times out at once
    while (input.size > 0 && send_packet(ends[1], input, sent)) {
    }
    if ((flags & stays_open) == 0) {
        close(ends[1]);
    }
    receive(ends[0], expected);
    close(ends[0]);
    if ((flags & stays_open) != 0) {
        close(ends[1]);
    }
    fuzz::require(free_descriptor(sent) == before);
    return 0;
}
