#include "platform.hpp"

#include <cushim/driver_table.hpp>

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
    return Error::unsupported_platform(
        "file descriptors for sharing memory do not exist on Windows");
}

} // namespace

Result<void> require_descriptors() noexcept {
    return no_descriptors();
}

Result<void> require_nt_handles() noexcept {
    return {};
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
    return no_descriptors();
}

Result<void> SocketDeadline::check() const noexcept {
    return {};
}
Result<SocketDeadline> sending_deadline(int) noexcept {
    return no_descriptors();
}
Result<SocketDeadline> receiving_deadline(int) noexcept {
    return no_descriptors();
}
Result<std::size_t> send_some(int, SocketBytes, int, const SocketDeadline &) noexcept {
    return no_descriptors();
}

Result<Received> receive_some(int, SocketBytes, ArrivedDescriptors &,
                              const SocketDeadline &) noexcept {
    return no_descriptors();
}

Result<std::string> make_temporary_file() {
    char folder[MAX_PATH + 1];
    char path[MAX_PATH];
    const DWORD length = GetTempPathA(sizeof(folder), folder);
    if (length == 0 || length >= sizeof(folder) || GetTempFileNameA(folder, "csh", 0, path) == 0) {
        return Error::make(
            {.status = CUDA_ERROR_OPERATING_SYSTEM, .detail = "cannot create a temporary file"});
    }
    return std::string(path);
}

void remove_file(const char *path) noexcept {
    DeleteFileA(path);
}

} // namespace cushim::detail
