// A second process for tests: this program again, with one hidden test case, and a channel between
// both that carries values and file descriptors. POSIX only.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

namespace support {

// One end of the connection. What does not arrive in time fails the test case.
class Channel {
  public:
    explicit Channel(int socket) noexcept : socket_(socket) {}
    ~Channel();
    Channel(Channel &&other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
    Channel(const Channel &) = delete;
    Channel &operator=(const Channel &) = delete;

    // The child's end, in the child.
    static Channel of_parent();

    template <class T>
    void send(const T &value) {
        static_assert(std::is_trivially_copyable_v<T>);
        send_bytes(&value, sizeof value, -1);
    }
    template <class T>
    T receive() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value;
        receive_bytes(&value, sizeof value, nullptr);
        return value;
    }
    // A descriptor, which stays the sender's, and is another one at the receiver.
    void send_fd(int fd);
    int receive_fd();
    // A step of both that carries nothing: signal() here, await() there.
    void signal() { send('.'); }
    void await() { receive<char>(); }

    void adopt(int socket) noexcept { socket_ = socket; }
    // For those who send and receive in other ways; stays the channel's.
    int socket() const noexcept { return socket_; }

  private:
    void send_bytes(const void *bytes, std::size_t size, int fd);
    void receive_bytes(void *bytes, std::size_t size, int *fd);
    int socket_;
};

class Child {
  public:
    // Runs the hidden test case of this name in a new process, with these settings of the
    // simulator.
    explicit Child(const std::string &test_case, const std::string &settings = "");
    ~Child(); // ends it
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    Channel &channel() noexcept { return channel_; }
    // Waits for its end; whether its test case passed.
    bool passed();
    // Ends it at once, as a crash does.
    void kill();
    // Ends it, but does not take note of it: it stays in the table of processes.
    void kill_unnoticed();

  private:
    int process_ = 0;
    Channel channel_;
};

// What came of a hidden test case in a process of its own that has no channel.
struct Outcome {
    int status;         // of its exit, or 128 and the signal that ended it
    std::string errors; // what it wrote to standard error
};
Outcome run_alone(const std::string &test_case, const std::string &settings);

// How many descriptors this process has open.
std::size_t open_descriptors();
bool is_open(int fd);

} // namespace support

namespace sim_test { // by this name for tests/sim
using support::Channel;
using support::Child;
using support::is_open;
using support::open_descriptors;
using support::Outcome;
using support::run_alone;
} // namespace sim_test
