#include "platform.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "base/ranges.hpp"

namespace cushim::detail {
namespace {

// strerror_r() of glibc returns the text, which may be elsewhere; that of POSIX returns a status.
[[maybe_unused]] const char *text_from(const char *returned, const char *) noexcept {
    return returned;
}
[[maybe_unused]] const char *text_from(int, const char *written) noexcept {
    return written;
}

// For EMFILE and ENFILE.
Error no_free_descriptor(int code) noexcept {
    char text[200] = "no free file descriptor (ENFILE): the system has reached its limit; close "
                     "descriptors or raise the limit (fs.file-max on Linux)";
    rlimit limit{};
    if (code == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        std::snprintf(text, sizeof text,
                      "no free file descriptor (EMFILE): RLIMIT_NOFILE of this process is %llu; "
                      "close descriptors or raise the limit",
                      static_cast<unsigned long long>(limit.rlim_cur));
    }
    return Error::make({.kind = ErrorKind::out_of_memory, .detail = text});
}

// The error of a system call on a descriptor.
Error descriptor_error(int descriptor, int code) noexcept {
    if (code == EMFILE || code == ENFILE) {
        return no_free_descriptor(code);
    }
    if (code == EBADF) {
        return invalid_argument("file descriptor %d is not open", descriptor);
    }
    if (code == ENOMEM) {
        return no_host_memory();
    }
    return invalid_argument("file descriptor %d: %s", descriptor, errno_text(code).c_str());
}

class KeepErrno {
  public:
    KeepErrno() = default;
    KeepErrno(const KeepErrno &) = delete;
    KeepErrno &operator=(const KeepErrno &) = delete;
    ~KeepErrno() { errno = before_; }

  private:
    const int before_ = errno;
};

// Asks the kernel whether both are the same open file: 1, 0, or -1 if unknown.
int ask_whether_same(int descriptor, int other) noexcept {
#ifdef __linux__
    constexpr int dupfd_query = 1027; // F_DUPFD_QUERY, since Linux 6.10
    const int answer = fcntl(descriptor, dupfd_query, other);
    if (answer >= 0) {
        return answer;
    }
    constexpr int kcmp_file = 0; // sandboxes often block this call
    const pid_t own = getpid();
    const long order = syscall(SYS_kcmp, own, own, kcmp_file, descriptor, other);
    return order < 0 ? -1 : order == 0;
#else
    (void)descriptor;
    (void)other;
    return -1;
#endif
}

// The fallback. It cannot distinguish two open files of one file. Descriptors from
// duplicate_to_lend() have numbers that others rarely get.
bool lead_to_one_file(int descriptor, int other) noexcept {
    struct stat one {};
    struct stat two {};
    return fstat(descriptor, &one) == 0 && fstat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

} // namespace

unsigned long long thread_number() noexcept {
    return (unsigned long long)pthread_self(); // a pointer on some systems
}

Result<void> require_descriptors(const char *) noexcept {
    return {};
}

Result<void> require_nt_handles(const char *otherwise) noexcept {
    return Error::unsupported_platform(otherwise);
}

Text errno_text(int code) noexcept {
    char written[sizeof(Text)] = "";
    Text text;
    std::snprintf(text.characters, sizeof text.characters, "%s",
                  text_from(strerror_r(code, written, sizeof written), written));
    return text;
}

void close_descriptor(int descriptor) noexcept {
    const KeepErrno keep;
    // Not retried after EINTR: that could close a descriptor of another thread.
    (void)::close(descriptor);
}

Result<int> duplicate_descriptor(int descriptor) noexcept {
    const KeepErrno keep;
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        return descriptor_error(descriptor, errno);
    }
    return copy;
}

Result<void> check_descriptor(int descriptor) noexcept {
    const KeepErrno keep;
    if (fcntl(descriptor, F_GETFD) < 0) {
        return descriptor_error(descriptor, errno);
    }
    return {};
}

Result<int> duplicate_to_lend(int descriptor) noexcept {
    const KeepErrno keep;
    constexpr int rarely_used = 512; // new files get the lowest free number
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, rarely_used);
    return copy >= 0 ? Result<int>(copy) : duplicate_descriptor(descriptor);
}

bool is_same_open_file(int descriptor, int other) noexcept {
    const KeepErrno keep;
    if (fcntl(other, F_GETFD) < 0) {
        return false;
    }
    const int answer = ask_whether_same(descriptor, other);
    return answer >= 0 ? answer != 0 : lead_to_one_file(descriptor, other);
}

} // namespace cushim::detail
