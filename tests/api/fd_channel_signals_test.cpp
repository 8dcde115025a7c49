// Signals of the process do not end what waits for a socket. No CUDA is needed.
#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>

#ifndef _WIN32

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

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

// Runs `waits` on a thread of its own, which is signalled again and again before `ends` lets it go on.
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

#else

TEST_CASE("Windows has no signals that end a wait", "[fd_channel]") {
    SKIP("there are no such sockets, either");
}

#endif
