// Descriptors sent over a socket, and rejected messages: wrong sizes, wrong numbers of descriptors,
// foreign messages. No CUDA is needed.
#include "harness/checks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cushim/fd_channel.hpp>
#include <cushim/table.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/child_process.hpp"
#endif

using namespace api_test;
using namespace cushim;

#ifdef _WIN32

TEST_CASE("sending descriptors fails on Windows", "[fd_channel]") {
    check_refused(send_fd(0, 0), "", ErrorKind::unsupported_platform);
    check_refused(receive_fd(0), "", ErrorKind::unsupported_platform);
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

// Sends bytes and descriptors without cushim.
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

TEST_CASE("a descriptor and its payload are received", "[fd_channel]") {
    for (const int kind : kinds) {
        INFO("socket type " << kind);
        const Ends ends(kind);
        for (const std::size_t size : {0, 1, 16, 100'000}) {
            const UniqueFd file = some_file();
            const auto sent = bytes_of(size);
            REQUIRE(send_fd(ends.here.get(), file.get(), sent));
            std::vector<std::byte> received(size);
            auto arrived = ok(receive_fd(ends.there.get(), received));
            CHECK(received == sent);
            CHECK(arrived.get() != file.get());
            CHECK(same_file(arrived.get(), file.get()));
            CHECK((fcntl(arrived.get(), F_GETFD) & FD_CLOEXEC) != 0);
            CHECK(support::is_open(file.get())); // the sender keeps it
        }
    }
}

TEST_CASE("two messages are received one at a time", "[fd_channel]") {
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

TEST_CASE("a message of an unexpected size is rejected with both sizes", "[fd_channel]") {
    for (const int kind : kinds) {
        for (const std::size_t expected : {0, 7, 9, 1000}) {
            const Ends ends(kind);
            const UniqueFd file = some_file();
            const std::size_t before = support::open_descriptors();
            REQUIRE(send_fd(ends.here.get(), file.get(), bytes_of(8)));
            std::vector<std::byte> received(expected);
            const auto arrived = receive_fd(ends.there.get(), received);
            check_refused(arrived, "size 8,");
            check_refused(arrived, std::to_string(expected));
            CHECK(support::open_descriptors() == before);
        }
    }
}

namespace {

// Whether the system reports that it has closed descriptors that did not fit in the receive buffer.
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

// A message of another program to a receiver that expects a payload of this size.
struct RawMessage {
    std::string what;
    std::vector<char> bytes;
    std::size_t descriptors;
    std::size_t payload;
    std::string why_refused;
    ErrorKind kind = ErrorKind::invalid_argument;
    bool in_streams = true;
};

std::vector<RawMessage> raw_messages() {
    auto not_ours = message_of(8, 8);
    not_ours[0] = 'C';
    std::vector<RawMessage> all = {{"not cushim's", not_ours, 1, 8, "start with \"cushimfd\""}};
    all.push_back({"more bytes than announced", message_of(8, 9), 1, 8,
                   "longer than its header states, 24 bytes"});
    all.back().in_streams = false; // the rest would begin the next message
    for (const std::size_t size : {1, 8, 15, 16, 17, 47}) {
        auto cut = message_of(32, 32);
        cut.resize(size);
        all.push_back({"cut off", cut, 1, 32, std::to_string(size) + " of 48"});
    }
    for (const std::size_t count : {0, 2, 3, 50}) {
        const std::string number = std::to_string(count);
        all.push_back({number + " file descriptors", message_of(8, 8), count, 8,
                       "descriptors in the message is " + number + ", expected 1"});
    }
    if (tells_of_lost_descriptors()) {
        all.push_back({"more descriptors than there is room for", message_of(8, 8), 100, 8, "lost",
                       ErrorKind::out_of_memory});
    }
    return all;
}

} // namespace

TEST_CASE("a foreign message is rejected and its descriptors are closed", "[fd_channel]") {
    const UniqueFd file = some_file();
    for (const RawMessage &raw : raw_messages()) {
        for (const int kind : kinds) {
            if (kind == SOCK_STREAM && !raw.in_streams) {
                continue;
            }
            INFO(raw.what << ", socket type " << kind);
            Ends ends(kind);
            const std::size_t before = support::open_descriptors();
            send_raw(ends.here.get(), raw.bytes.data(), raw.bytes.size(),
                     std::vector<int>(raw.descriptors, file.get()));
            ends.here.reset();
            std::vector<std::byte> received(raw.payload);
            check_refused(receive_fd(ends.there.get(), received), raw.why_refused, raw.kind);
            CHECK(support::open_descriptors() == before - 1);
        }
    }
}

TEST_CASE("a descriptor in each half of a message is rejected", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const UniqueFd file = some_file();
    const std::size_t before = support::open_descriptors();
    const auto bytes = message_of(8, 8);
    send_raw(ends.here.get(), bytes.data(), 10, {file.get()});
    send_raw(ends.here.get(), bytes.data() + 10, bytes.size() - 10, {file.get()});
    std::vector<std::byte> received(8);
    check_refused(receive_fd(ends.there.get(), received), "is 2, expected 1");
    CHECK(support::open_descriptors() == before);
}

TEST_CASE("credentials in a message are ignored", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const int on = 1;
    REQUIRE(setsockopt(ends.there.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
    const UniqueFd file = some_file();
    REQUIRE(send_fd(ends.here.get(), file.get(), bytes_of(8)));
    std::vector<std::byte> received(8);
    CHECK(receive_fd(ends.there.get(), received));
}

TEST_CASE("receiving fails with CUDA_ERROR_TIMEOUT after the socket's time limit", "[fd_channel]") {
    for (const int kind : kinds) {
        const Ends ends(kind);
        const timeval soon{0, 20'000};
        REQUIRE(setsockopt(ends.there.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) == 0);
        CHECK(error_of(receive_fd(ends.there.get())).status() == CUDA_ERROR_TIMEOUT);
    }
}

TEST_CASE("a descriptor of a file is rejected as a socket", "[fd_channel]") {
    const UniqueFd file = some_file();
    check_refused(send_fd(file.get(), file.get()), "is not a Unix socket");
    check_refused(receive_fd(file.get()), "is not a Unix socket");
}

// --- signals do not interrupt sending and receiving

namespace {

std::atomic<int> handled = 0;

// Without SA_RESTART, so that a blocked call fails with EINTR.
class Handler {
  public:
    Handler() {
        handled = 0;
        struct sigaction action {};
        action.sa_handler = [](int) { ++handled; };
        REQUIRE(sigaction(SIGUSR1, &action, &before_) == 0);
    }
    ~Handler() { sigaction(SIGUSR1, &before_, nullptr); }
    Handler(const Handler &) = delete;
    Handler &operator=(const Handler &) = delete;

  private:
    struct sigaction before_ {};
};

// Runs `waits` on another thread, which receives signals until `ends` is called.
template <class Waits, class Ends>
auto interrupted(const Waits &waits, const Ends &ends) {
    const Handler handler;
    std::atomic<bool> begun = false;
    std::optional<decltype(waits())> result;
    std::thread waiter([&] {
        begun = true;
        result.emplace(waits());
    });
    while (!begun) {
        std::this_thread::yield();
    }
    for (const int signals : {10, 20, 30}) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        while (handled < signals) {
            pthread_kill(waiter.native_handle(), SIGUSR1);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    ends();
    waiter.join();
    return std::move(*result);
}

} // namespace

TEST_CASE("a signal does not interrupt receiving a descriptor", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const UniqueFd file = some_file();
    bool is_sent = false;
    const auto arrived =
        interrupted([&] { return receive_fd(ends.there.get()); },
                    [&] { is_sent = send_fd(ends.here.get(), file.get()).has_value(); });
    CHECK(is_sent);
    INFO((arrived ? "" : arrived.error().message()));
    CHECK(arrived.has_value());
}

TEST_CASE("a signal does not interrupt sending more than the socket's buffer", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const UniqueFd file = some_file();
    const std::vector<std::byte> sent(8 << 20, std::byte{7});
    std::vector<std::byte> received(sent.size());
    bool has_arrived = false;
    const auto done =
        interrupted([&] { return send_fd(ends.here.get(), file.get(), sent); },
                    [&] { has_arrived = receive_fd(ends.there.get(), received).has_value(); });
    INFO((done ? "" : done.error().message()));
    CHECK(done.has_value());
    CHECK(has_arrived);
    CHECK(received == sent);
}

namespace {

constexpr auto limit = std::chrono::milliseconds(300);
constexpr auto longest = std::chrono::seconds(3); // for a busy machine

void limit_time(const UniqueFd &socket, int option) {
    const timeval value = {0, std::chrono::microseconds(limit).count()};
    REQUIRE(setsockopt(socket.get(), SOL_SOCKET, option, &value, sizeof value) == 0);
}

// Runs `waits`, which must end at the socket's time limit; calls `disturb` every 10 ms meanwhile.
template <class Waits, class Disturb>
void check_limit(const Waits &waits, const Disturb &disturb) {
    const Handler handler;
    const auto begun = std::chrono::steady_clock::now();
    std::atomic<bool> done = false;
    const pthread_t waiter = pthread_self();
    std::thread other([&] {
        while (!done && std::chrono::steady_clock::now() - begun < 4 * longest) {
            disturb(waiter);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    });
    const auto result = waits();
    const auto taken = std::chrono::steady_clock::now() - begun;
    done = true;
    other.join();
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().status() == CUDA_ERROR_TIMEOUT);
    CHECK(taken >= limit);
    CHECK(taken < longest);
}

void signal_it(pthread_t waiter) {
    pthread_kill(waiter, SIGUSR1);
}

} // namespace

TEST_CASE("signals do not extend the time limit of receiving", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    limit_time(ends.there, SO_RCVTIMEO);
    check_limit([&] { return receive_fd(ends.there.get()); }, signal_it);
}

TEST_CASE("signals do not extend the time limit of sending", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const UniqueFd file = some_file();
    const std::vector<std::byte> sent(8 << 20);
    limit_time(ends.here, SO_SNDTIMEO);
    check_limit([&] { return send_fd(ends.here.get(), file.get(), sent); }, signal_it);
}

TEST_CASE("the time limit applies to a whole message received byte by byte", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    limit_time(ends.there, SO_RCVTIMEO);
    std::vector<std::byte> payload(1 << 16);
    std::vector<std::byte> message(16 + payload.size());
    const std::uint64_t size = payload.size();
    std::memcpy(message.data(), "cushimfd", 8);
    std::memcpy(message.data() + 8, &size, sizeof size);
    std::size_t next = 0;
    int turn = 0;
    check_limit([&] { return receive_fd(ends.there.get(), payload); },
                [&](pthread_t) {
                    if (turn++ % 10 == 0) { // every 100 ms
                        (void)send(ends.here.get(), &message[next++], 1, MSG_NOSIGNAL);
                    }
                });
    CHECK(next > 1);
}

TEST_CASE("the time limit applies to a whole message sent in parts", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    const UniqueFd file = some_file();
    const std::vector<std::byte> sent(8 << 20);
    limit_time(ends.here, SO_SNDTIMEO);
    std::vector<char> some(1 << 16);
    check_limit(
        [&] { return send_fd(ends.here.get(), file.get(), sent); },
        [&](pthread_t) { (void)recv(ends.there.get(), some.data(), some.size(), MSG_DONTWAIT); });
}

TEST_CASE("receiving from a non-blocking socket does not wait", "[fd_channel]") {
    const Ends ends(SOCK_STREAM);
    REQUIRE(fcntl(ends.there.get(), F_SETFL, O_NONBLOCK) == 0);
    CHECK(error_of(receive_fd(ends.there.get())).status() == CUDA_ERROR_TIMEOUT);
}

#endif
