// A second process for tests: this program again, running one hidden test case, and a channel
// between the two for values and file descriptors. POSIX only.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

namespace support {

// One end of the connection. Receiving fails the test case after a time limit.
class Channel {
  public:
    explicit Channel(int socket) noexcept : socket_(socket) {}
    ~Channel();
    Channel(Channel &&other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
    Channel(const Channel &) = delete;
    Channel &operator=(const Channel &) = delete;

    // The end that the child uses.
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
    // The sender keeps its descriptor; the receiver gets a new one.
    void send_fd(int fd);
    int receive_fd();
    // Synchronizes both processes: signal() in one, await() in the other.
    void signal() { send('.'); }
    void await() { receive<char>(); }

    void adopt(int socket) noexcept { socket_ = socket; }
    // For direct access. The channel keeps ownership.
    int socket() const noexcept { return socket_; }

  private:
    void send_bytes(const void *bytes, std::size_t size, int fd);
    void receive_bytes(void *bytes, std::size_t size, int *fd);
    int socket_;
};

class Child {
  public:
    // Runs the hidden test case in a new process, with these settings of the simulator.
    explicit Child(const std::string &test_case, const std::string &settings = "");
    ~Child(); // kills the process
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    Channel &channel() noexcept { return channel_; }
    // Waits for the end of the process. Returns whether its test case passed.
    bool passed();
    // Kills the process, like a crash.
    void kill();
    // Kills the process without waiting for it, so that it remains as a zombie.
    void kill_unnoticed();

  private:
    int process_ = 0;
    Channel channel_;
};

// The outcome of a hidden test case in a process without a channel.
struct Outcome {
    int status;         // exit status, or 128 plus the signal that ended it
    std::string errors; // its standard error
};
Outcome run_alone(const std::string &test_case, const std::string &settings);

// The number of open descriptors of this process.
std::size_t open_descriptors();
bool is_open(int fd);

} // namespace support

namespace sim_test { // tests/sim uses these names
using support::Channel;
using support::Child;
using support::is_open;
using support::open_descriptors;
using support::Outcome;
using support::run_alone;
} // namespace sim_test
