// Signals of the process do not end what waits for a socket. No CUDA is needed.
#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>

#ifndef _WIN32

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

using namespace api_test;
using namespace cushim;

namespace {

std::atomic<int> handled = 0;

// Without SA_RESTART, so that a call that waits ends with EINTR.
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

// Runs `waits` on a thread of its own, which is signalled again and again before `ends` lets it go
// on.
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

struct Ends {
    Ends() {
        int both[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
        here = UniqueFd(both[0]);
        there = UniqueFd(both[1]);
    }
    UniqueFd here;
    UniqueFd there;
};

} // namespace

TEST_CASE("a signal does not end the wait for a descriptor", "[fd_channel]") {
    const Ends ends;
    const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
    bool is_sent = false;
    const auto arrived =
        interrupted([&] { return receive_fd(ends.there.get()); },
                    [&] { is_sent = send_fd(ends.here.get(), file.get()).has_value(); });
    CHECK(is_sent);
    INFO((arrived ? "" : arrived.error().message()));
    CHECK(arrived.has_value());
}

TEST_CASE("a signal does not end the sending of what is larger than the socket's buffer",
          "[fd_channel]") {
    const Ends ends;
    const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
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
// With room for a busy machine.
constexpr auto longest = std::chrono::seconds(3);

void limit_time(const UniqueFd &socket, int option) {
    const timeval value = {0, std::chrono::microseconds(limit).count()};
    REQUIRE(setsockopt(socket.get(), SOL_SOCKET, option, &value, sizeof value) == 0);
}

// Runs `waits`, which must end with the socket's time, while `disturb` is called every 10 ms.
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

TEST_CASE("signals do not prolong the wait for a descriptor", "[fd_channel]") {
    const Ends ends;
    limit_time(ends.there, SO_RCVTIMEO);
    check_limit([&] { return receive_fd(ends.there.get()); }, signal_it);
}

TEST_CASE("signals do not prolong the sending of what does not fit", "[fd_channel]") {
    const Ends ends;
    const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
    const std::vector<std::byte> sent(8 << 20);
    limit_time(ends.here, SO_SNDTIMEO);
    check_limit([&] { return send_fd(ends.here.get(), file.get(), sent); }, signal_it);
}

TEST_CASE("a message that comes byte by byte has one time limit", "[fd_channel]") {
    const Ends ends;
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

TEST_CASE("a message that is read byte by byte has one time limit", "[fd_channel]") {
    const Ends ends;
    const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
    const std::vector<std::byte> sent(8 << 20);
    limit_time(ends.here, SO_SNDTIMEO);
    std::vector<char> some(1 << 16);
    check_limit(
        [&] { return send_fd(ends.here.get(), file.get(), sent); },
        [&](pthread_t) { (void)recv(ends.there.get(), some.data(), some.size(), MSG_DONTWAIT); });
}

TEST_CASE("a socket that is not to block never waits", "[fd_channel]") {
    const Ends ends;
    REQUIRE(fcntl(ends.there.get(), F_SETFL, O_NONBLOCK) == 0);
    CHECK(error_of(receive_fd(ends.there.get())).status() == CUDA_ERROR_TIMEOUT);
}

#else

TEST_CASE("Windows has no signals that end a wait", "[fd_channel]") {
    SKIP("there are no such sockets, either");
}

#endif
