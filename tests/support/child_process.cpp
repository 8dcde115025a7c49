#include "child_process.hpp"

#ifndef _WIN32

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

extern char **environ;

namespace support {
namespace {

constexpr int patience_ms = 60000;
constexpr const char *variable = "SIM_TEST_CHANNEL";

// The environment of this process with two variables set.
std::vector<std::string> environment_of_child(int socket, const std::string &settings) {
    std::vector<std::string> all;
    for (char **entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (!text.starts_with("CUSHIM_SIM=") && !text.starts_with(std::string(variable) + '=')) {
            all.emplace_back(text);
        }
    }
    all.push_back("CUSHIM_SIM=" + settings);
    all.push_back(std::string(variable) + '=' + std::to_string(socket));
    return all;
}

std::vector<char *> pointers_to(std::vector<std::string> &texts) {
    std::vector<char *> pointers;
    for (std::string &text : texts) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

// The command that starts this program again: its file, after Meson's emulator if there is one.
std::vector<std::string> this_program() {
    std::vector<std::string> words;
    const char *wrapper = std::getenv("MESON_EXE_WRAPPER");
    std::istringstream rest(wrapper != nullptr ? wrapper : "");
    for (std::string word; rest >> word;) {
        words.push_back(word);
    }
    words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
    return words;
}

} // namespace

Channel::~Channel() {
    if (socket_ >= 0) {
        close(socket_);
    }
}

Channel Channel::of_parent() {
    const char *socket = std::getenv(variable);
    if (socket == nullptr) {
        SKIP("this test case runs only as the second process of another one");
    }
    return Channel(std::atoi(socket));
}

void Channel::send_fd(int fd) {
    const char nothing = 'f';
    send_bytes(&nothing, sizeof nothing, fd);
}

int Channel::receive_fd() {
    char nothing = 0;
    int fd = -1;
    receive_bytes(&nothing, sizeof nothing, &fd);
    REQUIRE(nothing == 'f');
    REQUIRE(fd >= 0);
    return fd;
}

void Channel::send_bytes(const void *bytes, std::size_t size, int fd) {
    iovec part{const_cast<void *>(bytes), size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    REQUIRE(sendmsg(socket_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
}

void Channel::receive_bytes(void *bytes, std::size_t size, int *fd) {
    pollfd waiting{socket_, POLLIN, 0};
    REQUIRE(poll(&waiting, 1, patience_ms) == 1);
    iovec part{bytes, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    // No bytes arrive if the other process has ended.
    REQUIRE(recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) == static_cast<ssize_t>(size));
    const cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (fd != nullptr && header != nullptr && header->cmsg_type == SCM_RIGHTS) {
        std::memcpy(fd, CMSG_DATA(header), sizeof *fd);
    }
}

Child::Child(const std::string &test_case, const std::string &settings) : channel_(-1) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    channel_.adopt(ends[0]);
    const int inherited = fcntl(ends[1], F_DUPFD, 100);
    close(ends[1]);
    REQUIRE(inherited >= 0);
    std::vector<std::string> environment = environment_of_child(inherited, settings);
    std::vector<std::string> arguments = this_program();
    arguments.push_back(test_case);
    pid_t process = 0;
    const int failed = posix_spawnp(&process, arguments.front().c_str(), nullptr, nullptr,
                                    pointers_to(arguments).data(), pointers_to(environment).data());
    close(inherited);
    REQUIRE(failed == 0);
    process_ = process;
}

Child::~Child() {
    kill();
}

bool Child::passed() {
    int status = 0;
    pid_t ended = 0;
    for (int waited = 0; ended == 0 && waited < patience_ms; waited += 2) {
        ended = waitpid(process_, &status, WNOHANG);
        if (ended == 0) {
            usleep(2000);
        }
    }
    REQUIRE(ended == process_); // otherwise the process hangs
    process_ = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void Child::kill() {
    if (process_ != 0) {
        ::kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
        process_ = 0;
    }
}

void Child::kill_unnoticed() {
    ::kill(process_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOWAIT);
}

Outcome run_alone(const std::string &test_case, const std::string &settings) {
    std::string command = "CUSHIM_SIM='" + settings + "' exec";
    for (const std::string &word : this_program()) {
        command += " '" + word + "'";
    }
    std::FILE *pipe = popen((command + " '" + test_case + "' 2>&1 >/dev/null").c_str(), "re");
    REQUIRE(pipe != nullptr);
    Outcome outcome{0, ""};
    char bytes[4096];
    while (const std::size_t got = std::fread(bytes, 1, sizeof bytes, pipe)) {
        outcome.errors.append(bytes, got);
    }
    const int status = pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    REQUIRE(folder != nullptr);
    while (readdir(folder) != nullptr) {
        ++count;
    }
    closedir(folder);
    return count - 3; // ".", ".." and the descriptor of the open folder
}

bool is_open(int fd) {
    return fcntl(fd, F_GETFD) != -1;
}

} // namespace support

#endif
