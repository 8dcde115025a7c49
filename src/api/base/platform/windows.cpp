#include "platform.hpp"

#include <cushim/driver_table.hpp>

#include <cstring>

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

namespace cushim::detail {
namespace {

Error no_descriptors() noexcept {
    return Error::unsupported_platform("file descriptors are not supported on Windows; duplicate "
                                       "Windows handles with DuplicateHandle()");
}

Error no_sockets() noexcept {
    return Error::unsupported_platform("file descriptors cannot be sent on Windows; duplicate "
                                       "Windows handles with DuplicateHandle()");
}

} // namespace

unsigned long long thread_number() noexcept {
    return GetCurrentThreadId();
}

Result<void> require_descriptors(const char *otherwise) noexcept {
    return Error::unsupported_platform(otherwise);
}

Result<void> require_nt_handles(const char *) noexcept {
    return {};
}

Text errno_text(int code) noexcept {
    Text text{};
    strerror_s(text.characters, sizeof text.characters, code);
    return text;
}

void close_descriptor(int) noexcept {}

Result<int> duplicate_descriptor(int) noexcept {
    return no_descriptors();
}

Result<int> duplicate_to_lend(int) noexcept {
    return no_descriptors();
}

Result<void> check_descriptor(int) noexcept {
    return no_descriptors();
}

bool is_same_open_file(int, int) noexcept {
    return false;
}

Result<bool> is_stream_socket(int) noexcept {
    return no_sockets();
}

Result<void> SocketDeadline::check() const noexcept {
    return {};
}
Result<SocketDeadline> sending_deadline(int) noexcept {
    return no_sockets();
}
Result<SocketDeadline> receiving_deadline(int) noexcept {
    return no_sockets();
}
Result<std::size_t> send_some(int, SocketBytes, int, const SocketDeadline &) noexcept {
    return no_sockets();
}

Result<Received> receive_some(int, SocketBytes, ArrivedDescriptors &,
                              const SocketDeadline &) noexcept {
    return no_sockets();
}

} // namespace cushim::detail
