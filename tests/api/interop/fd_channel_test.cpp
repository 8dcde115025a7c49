// Descriptors that travel over a socket, and what must not: wrong sizes, wrong numbers of them, and
// messages of others. No CUDA is needed.
#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/child_process.hpp"
#endif

using namespace api_test;
using namespace cushim;

namespace {

template <class T>
void check_refused(const Result<T> &result, ErrorKind kind, const std::string &part) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().kind() == kind);
    INFO(result.error().message());
    CHECK(contains(result.error().message(), part));
}

} // namespace

#ifdef _WIN32

TEST_CASE("Windows has no such sockets", "[fd_channel]") {
    check_refused(send_fd(0, 0), ErrorKind::unsupported_platform, "");
    check_refused(receive_fd(0), ErrorKind::unsupported_platform, "");
}

#else

namespace {

constexpr int kinds[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};

struct Ends {
    explicit Ends(int kind) {
        int both[2];
        REQUIRE(socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, both) == 0);
        here = UniqueFd(both[0]);
        there = UniqueFd(both[1]);
    }
    UniqueFd here;
    UniqueFd there;
};

UniqueFd some_file() {
    return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
}

bool same_file(int one, int other) {
    struct stat a {};
    struct stat b {};
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

std::vector<std::byte> bytes_of(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(i * 7);
    }
    return bytes;
}

// Sends what any program may: these bytes, with these descriptors.
void send_raw(int socket, const void *bytes, std::size_t size, const std::vector<int> &fds) {
    iovec part{const_cast<void *>(bytes), size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(sizeof(int) * fds.size()));
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr *const rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
        std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
    }
    REQUIRE(sendmsg(socket, &message, 0) == static_cast<ssize_t>(size));
}

// A message as the header describes it, with a payload of zeros.
std::vector<char> message_of(std::uint64_t announced, std::size_t payload) {
    std::vector<char> bytes(16 + payload);
    std::memcpy(bytes.data(), "cushimfd", 8);
    std::memcpy(bytes.data() + 8, &announced, 8);
    return bytes;
}

} // namespace

TEST_CASE("a descriptor and its description arrive", "[fd_channel]") {
    for (const int kind : kinds) {
        INFO("socket type " << kind);
        const Ends ends(kind);
        for (const std::size_t size : {0, 1, 16, 100'000}) {
            const UniqueFd file = some_file();
            const auto sent = bytes_of(size);
            REQUIRE(send_fd(ends.here.get(), file.get(), sent));
            std::vector<std::byte> received(size);
            auto arrived = required(receive_fd(ends.there.get(), received));
            CHECK(received == sent);
            CHECK(arrived.get() != file.get());
            CHECK(same_file(arrived.get(), file.get()));
            CHECK((fcntl(arrived.get(), F_GETFD) & FD_CLOEXEC) != 0);
            CHECK(support::is_open(file.get())); // it stays the sender's
        }
    }
}

TEST_CASE("messages stay apart", "[fd_channel]") {
    for (const int kind : kinds) {
        const Ends ends(kind);
        const UniqueFd file = some_file();
        const std::array first{std::byte{1}}, second{std::byte{2}};
        REQUIRE(send_fd(ends.here.get(), file.get(), first));
        REQUIRE(send_fd(ends.here.get(), file.get(), second));
        std::array<std::byte, 1> received{};
        CHECK(receive_fd(ends.there.get(), received));
        CHECK(received == first);
        CHECK(receive_fd(ends.there.get(), received));
        CHECK(received == second);
    }
}

TEST_CASE("a message larger than the socket's buffer arrives", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const UniqueFd file = some_file();
    const auto sent = bytes_of(8 << 20);
    bool is_sent = false;
    std::thread sender([&] { is_sent = send_fd(ends.here.get(), file.get(), sent).has_value(); });
    std::vector<std::byte> received(sent.size());
    const auto arrived = receive_fd(ends.there.get(), received);
    sender.join();
    CHECK(is_sent);
    CHECK(arrived);
    CHECK(received == sent);
}

TEST_CASE("a message of another size than expected is refused, with both", "[fd_channel]") {
    for (const int kind : kinds) {
        for (const std::size_t expected : {0, 7, 9, 1000}) {
            const Ends ends(kind);
            const UniqueFd file = some_file();
            const std::size_t before = support::open_descriptors();
            REQUIRE(send_fd(ends.here.get(), file.get(), bytes_of(8)));
            std::vector<std::byte> received(expected);
            const auto arrived = receive_fd(ends.there.get(), received);
            check_refused(arrived, ErrorKind::invalid_argument, "size is 8,");
            check_refused(arrived, ErrorKind::invalid_argument, std::to_string(expected));
            CHECK(support::open_descriptors() == before);
        }
    }
}

TEST_CASE("a message that is cut off is refused", "[fd_channel]") {
    const auto whole = message_of(32, 32);
    for (const int kind : kinds) {
        for (const std::size_t size : {1, 8, 15, 16, 17, 47}) {
            INFO("socket type " << kind << ", " << size << " bytes");
            Ends ends(kind);
            const UniqueFd file = some_file();
            const std::size_t before = support::open_descriptors();
            send_raw(ends.here.get(), whole.data(), size, {file.get()});
            ends.here.reset();
            std::vector<std::byte> received(32);
            check_refused(receive_fd(ends.there.get(), received), ErrorKind::invalid_argument,
                          std::to_string(size) + " of 48");
            CHECK(support::open_descriptors() == before - 1);
        }
    }
}

TEST_CASE("a message with more behind it than it says is refused", "[fd_channel]") {
    for (const int kind : {SOCK_SEQPACKET, SOCK_DGRAM}) {
        const Ends ends(kind);
        const UniqueFd file = some_file();
        const auto longer = message_of(8, 9);
        send_raw(ends.here.get(), longer.data(), longer.size(), {file.get()});
        std::vector<std::byte> received(8);
        check_refused(receive_fd(ends.there.get(), received), ErrorKind::invalid_argument,
                      "exceeds its stated size, 8");
    }
}

TEST_CASE("what is no message of cushim's is refused", "[fd_channel]") {
    for (const int kind : kinds) {
        const Ends ends(kind);
        const UniqueFd file = some_file();
        const std::size_t before = support::open_descriptors();
        auto other = message_of(8, 8);
        other[0] = 'C';
        send_raw(ends.here.get(), other.data(), other.size(), {file.get()});
        std::vector<std::byte> received(8);
        check_refused(receive_fd(ends.there.get(), received), ErrorKind::invalid_argument,
                      "not a cushim message");
        CHECK(support::open_descriptors() == before);
    }
}

TEST_CASE("exactly one descriptor arrives, or none stays open", "[fd_channel]") {
    for (const int kind : kinds) {
        for (const std::size_t count : {0, 2, 3, 50}) {
            INFO("socket type " << kind << ", " << count << " descriptors");
            const Ends ends(kind);
            const UniqueFd file = some_file();
            const std::size_t before = support::open_descriptors();
            const auto bytes = message_of(8, 8);
            send_raw(ends.here.get(), bytes.data(), bytes.size(),
                     std::vector<int>(count, file.get()));
            std::vector<std::byte> received(8);
            check_refused(receive_fd(ends.there.get(), received), ErrorKind::invalid_argument,
                          std::to_string(count) + " file descriptors");
            CHECK(support::open_descriptors() == before);
        }
    }
}

namespace {

// Whether the system says so where there is room for only some of a message's descriptors, and
// closes the others.
bool tells_of_lost_descriptors() {
    const Ends ends(SOCK_STREAM);
    const UniqueFd file = some_file();
    char byte = 0;
    send_raw(ends.here.get(), &byte, 1, std::vector<int>(4, file.get()));
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    REQUIRE(recvmsg(ends.there.get(), &message, MSG_CMSG_CLOEXEC) == 1);
    const cmsghdr *rights = CMSG_FIRSTHDR(&message);
    REQUIRE(rights != nullptr);
    for (std::size_t at = CMSG_LEN(0); at < rights->cmsg_len; at += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, reinterpret_cast<const char *>(rights) + at, sizeof fd);
        close(fd);
    }
    return (message.msg_flags & MSG_CTRUNC) != 0;
}

} // namespace

TEST_CASE("more descriptors than there is room for are lost, and none stays open", "[fd_channel]") {
    if (!tells_of_lost_descriptors()) {
        SKIP("this system, an emulated one, does not say that descriptors were lost");
    }
    for (const int kind : kinds) {
        INFO("socket type " << kind);
        const Ends ends(kind);
        const UniqueFd file = some_file();
        const std::size_t before = support::open_descriptors();
        const auto bytes = message_of(8, 8);
        send_raw(ends.here.get(), bytes.data(), bytes.size(), std::vector<int>(100, file.get()));
        std::vector<std::byte> received(8);
        check_refused(receive_fd(ends.there.get(), received), ErrorKind::out_of_memory, "lost");
        CHECK(support::open_descriptors() == before);
    }
}

TEST_CASE("a descriptor in each half of a stream's message is one too many", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const UniqueFd file = some_file();
    const std::size_t before = support::open_descriptors();
    const auto bytes = message_of(8, 8);
    send_raw(ends.here.get(), bytes.data(), 10, {file.get()});
    send_raw(ends.here.get(), bytes.data() + 10, bytes.size() - 10, {file.get()});
    std::vector<std::byte> received(8);
    check_refused(receive_fd(ends.there.get(), received), ErrorKind::invalid_argument,
                  "2 file descriptors");
    CHECK(support::open_descriptors() == before);
}

TEST_CASE("credentials that a socket brings along do not matter", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const int on = 1;
    REQUIRE(setsockopt(ends.there.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
    const UniqueFd file = some_file();
    REQUIRE(send_fd(ends.here.get(), file.get(), bytes_of(8)));
    std::vector<std::byte> received(8);
    CHECK(receive_fd(ends.there.get(), received));
}

TEST_CASE("a closed socket is an error of the system's, and ends no process", "[fd_channel]") {
    Ends ends(SOCK_STREAM);
    ends.there.reset();
    const UniqueFd file = some_file();
    const Error sent = error_of(send_fd(ends.here.get(), file.get()));
    CHECK(sent.status() == CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(std::string(sent.entry_point()) == "sendmsg");
    check_refused(receive_fd(ends.here.get()), ErrorKind::status, "closed");
}

TEST_CASE("a socket's time runs out", "[fd_channel]") {
    for (const int kind : kinds) {
        const Ends ends(kind);
        const timeval soon{0, 20'000};
        REQUIRE(setsockopt(ends.there.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) == 0);
        CHECK(error_of(receive_fd(ends.there.get())).status() == CUDA_ERROR_TIMEOUT);
    }
}

TEST_CASE("only Unix sockets and open descriptors are taken", "[fd_channel]") {
    const UniqueFd file = some_file();
    const Ends ends(SOCK_STREAM);
    constexpr auto invalid = ErrorKind::invalid_argument;
    check_refused(send_fd(-1, file.get()), invalid, "-1 is not a Unix socket");
    check_refused(send_fd(file.get(), file.get()), invalid, "is not a Unix socket");
    check_refused(receive_fd(file.get()), invalid, "is not a Unix socket");
    check_refused(send_fd(ends.here.get(), -1), invalid, "-1");
    const UniqueFd internet(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (internet) {
        check_refused(receive_fd(internet.get()), invalid, "is not a Unix socket");
    }
}

#endif
