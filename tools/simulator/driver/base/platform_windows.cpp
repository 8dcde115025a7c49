// Operating system services for the simulator: Windows. Memory files are sections of the paging
// file.
#include "base/immortal.hpp"
#include "base/platform.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace sim::platform {
namespace {

HANDLE as_handle(std::intptr_t handle) {
    return reinterpret_cast<HANDLE>(handle);
}

DWORD high_of(std::uint64_t value) {
    return static_cast<DWORD>(value >> 32);
}
DWORD low_of(std::uint64_t value) {
    return static_cast<DWORD>(value);
}

const SYSTEM_INFO &system_info() {
    static const SYSTEM_INFO info = [] {
        SYSTEM_INFO read;
        GetSystemInfo(&read);
        return read;
    }();
    return info;
}

std::byte *view_of(std::intptr_t handle, std::size_t offset, std::size_t size, std::byte *where) {
    return static_cast<std::byte *>(MapViewOfFileEx(as_handle(handle),
                                                    FILE_MAP_READ | FILE_MAP_WRITE, high_of(offset),
                                                    low_of(offset), size, where));
}

// The pieces of all view reservations. The system releases reservations only as a whole. To map a
// file, a reservation is released and the parts on both sides of the mapping are reserved again.
struct Piece {
    std::size_t size;
    bool mapped;
};
std::map<std::byte *, Piece> &pieces() {
    static Immortal<std::map<std::byte *, Piece>> all;
    return *all;
}

bool reserve_piece(std::byte *where, std::size_t size) {
    if (size == 0) {
        return true;
    }
    if (VirtualAlloc(where, size, MEM_RESERVE, PAGE_NOACCESS) == nullptr) {
        return false;
    }
    pieces()[where] = {size, false};
    return true;
}

} // namespace

File File::create(std::size_t size) {
    const HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE,
                                              high_of(size), low_of(size), nullptr);
    return section == nullptr ? File() : adopt(reinterpret_cast<std::intptr_t>(section));
}

File File::adopt(std::intptr_t handle) noexcept {
    File file;
    file.handle_ = handle == 0 ? invalid : handle;
    return file;
}

void File::close() noexcept {
    if (valid()) {
        CloseHandle(as_handle(handle_));
    }
}

File File::duplicate() const {
    HANDLE copy = nullptr;
    if (!valid() || !DuplicateHandle(GetCurrentProcess(), as_handle(handle_), GetCurrentProcess(),
                                     &copy, 0, FALSE, DUPLICATE_SAME_ACCESS)) {
        return {};
    }
    return adopt(reinterpret_cast<std::intptr_t>(copy));
}

std::size_t File::size() const {
    if (!valid()) {
        return 0;
    }
    // The size of a section is the size of a mapping of all of it.
    void *view = MapViewOfFile(as_handle(handle_), FILE_MAP_READ, 0, 0, 0);
    MEMORY_BASIC_INFORMATION info{};
    const bool known = view != nullptr && VirtualQuery(view, &info, sizeof info) != 0;
    if (view != nullptr) {
        UnmapViewOfFile(view);
    }
    return known ? info.RegionSize : 0;
}

bool File::can_shrink() const noexcept {
    return false;
}

std::byte *File::map(std::size_t offset, std::size_t size) const {
    return view_of(handle_, offset, size, nullptr);
}

bool File::map_at(std::byte *where, std::size_t offset, std::size_t size, bool accessible) const {
    auto after = pieces().upper_bound(where);
    if (after == pieces().begin()) {
        return false;
    }
    const auto [begin, piece] = *std::prev(after);
    const auto before = static_cast<std::size_t>(where - begin);
    if (piece.mapped || before > piece.size || piece.size - before < size) {
        return false;
    }
    VirtualFree(begin, 0, MEM_RELEASE);
    pieces().erase(begin);
    const bool kept =
        reserve_piece(begin, before) && reserve_piece(where + size, piece.size - before - size);
    if (!kept || view_of(handle_, offset, size, where) != where) {
        reserve_piece(where, size);
        return false;
    }
    pieces()[where] = {size, true};
    if (!accessible) {
        protect(where, size, Access::none);
    }
    return true;
}

void File::discard(std::size_t offset, std::size_t size) const {
    const std::size_t from = offset / map_granularity() * map_granularity();
    if (std::byte *view = map(from, size + (offset - from))) {
        __builtin_memset(view + (offset - from), 0, size);
        unmap(view, size);
    }
}

void unmap(std::byte *view, std::size_t) {
    UnmapViewOfFile(view);
}

std::size_t page_size() noexcept {
    return system_info().dwPageSize;
}

std::size_t map_granularity() noexcept {
    return system_info().dwAllocationGranularity;
}

std::size_t host_memory() noexcept {
    MEMORYSTATUSEX status{};
    status.dwLength = sizeof status;
    return GlobalMemoryStatusEx(&status) ? static_cast<std::size_t>(status.ullTotalPhys) : 0;
}

void *reserve(std::size_t size) {
    return VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_NOACCESS);
}

bool commit(void *pages, std::size_t size) {
    return VirtualAlloc(pages, size, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

void decommit(void *pages, std::size_t size) {
    VirtualFree(pages, size, MEM_DECOMMIT);
}

std::byte *reserve_view(std::size_t size) {
    auto *view = static_cast<std::byte *>(reserve(size));
    if (view != nullptr) {
        pieces()[view] = {size, false};
    }
    return view;
}

void unreserve_view(std::byte *view, std::size_t size) {
    auto piece = pieces().lower_bound(view);
    while (piece != pieces().end() && piece->first < view + size) {
        if (piece->second.mapped) {
            UnmapViewOfFile(piece->first);
        } else {
            VirtualFree(piece->first, 0, MEM_RELEASE);
        }
        piece = pieces().erase(piece);
    }
}

void unmap_at(std::byte *where, std::size_t size) {
    auto piece = pieces().lower_bound(where);
    while (piece != pieces().end() && piece->first < where + size) {
        if (piece->second.mapped) {
            UnmapViewOfFile(piece->first);
            piece->second.mapped =
                !VirtualAlloc(piece->first, piece->second.size, MEM_RESERVE, PAGE_NOACCESS);
        }
        ++piece;
    }
    // Merge neighbors into one piece, so that a larger mapping fits later.
    piece = pieces().upper_bound(where);
    piece = piece == pieces().begin() ? piece : std::prev(piece);
    while (piece != pieces().end() && piece->first <= where + size) {
        auto next = std::next(piece);
        if (next == pieces().end() || piece->second.mapped || next->second.mapped ||
            piece->first + piece->second.size != next->first) {
            piece = next;
            continue;
        }
        std::byte *begin = piece->first;
        const std::size_t both = piece->second.size + next->second.size;
        VirtualFree(begin, 0, MEM_RELEASE);
        VirtualFree(next->first, 0, MEM_RELEASE);
        pieces().erase(next);
        pieces().erase(piece);
        if (!reserve_piece(begin, both)) {
            return;
        }
        piece = pieces().find(begin);
    }
}

void protect(std::byte *where, std::size_t size, Access access) {
    const DWORD protection = access == Access::none   ? PAGE_NOACCESS
                             : access == Access::read ? PAGE_READONLY
                                                      : PAGE_READWRITE;
    // Each mapping is protected separately.
    for (auto piece = pieces().lower_bound(where);
         piece != pieces().end() && piece->first < where + size; ++piece) {
        DWORD old = 0;
        if (piece->second.mapped) {
            VirtualProtect(piece->first, piece->second.size, protection, &old);
        }
    }
}

static bool permits(DWORD protection, Access access) noexcept {
    constexpr DWORD writable =
        PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    constexpr DWORD readable = writable | PAGE_READONLY | PAGE_EXECUTE_READ;
    return (protection & PAGE_GUARD) == 0 &&
           (protection & (access == Access::read ? readable : writable)) != 0;
}

bool is_mapped(const void *begin, std::size_t size) noexcept {
    const auto *at = static_cast<const char *>(begin);
    if (size > ~std::uintptr_t(0) - reinterpret_cast<std::uintptr_t>(begin)) {
        return false;
    }
    for (const char *end = at + size; at < end;) {
        MEMORY_BASIC_INFORMATION info{};
        if (VirtualQuery(at, &info, sizeof info) == 0 || info.State != MEM_COMMIT) {
            return false;
        }
        at = static_cast<const char *>(info.BaseAddress) + info.RegionSize;
    }
    return true;
}

bool is_accessible(const void *begin, std::size_t size, Access access) noexcept {
    const auto *at = static_cast<const char *>(begin);
    if (size > ~std::uintptr_t(0) - reinterpret_cast<std::uintptr_t>(begin)) {
        return false;
    }
    for (const char *end = at + size; at < end;) {
        MEMORY_BASIC_INFORMATION info{};
        if (VirtualQuery(at, &info, sizeof info) == 0 || info.State != MEM_COMMIT ||
            !permits(info.Protect, access)) {
            return false;
        }
        at = static_cast<const char *>(info.BaseAddress) + info.RegionSize;
    }
    return true;
}

std::uint64_t process_id() noexcept {
    return GetCurrentProcessId();
}

File open_of_process(std::uint64_t process, std::intptr_t handle) {
    const HANDLE other = OpenProcess(PROCESS_DUP_HANDLE, FALSE, static_cast<DWORD>(process));
    if (other == nullptr) {
        return {};
    }
    HANDLE copy = nullptr;
    const bool copied = DuplicateHandle(other, as_handle(handle), GetCurrentProcess(), &copy, 0,
                                        FALSE, DUPLICATE_SAME_ACCESS);
    CloseHandle(other);
    return copied ? File::adopt(reinterpret_cast<std::intptr_t>(copy)) : File();
}

std::optional<FileIdentity> identity_of(std::intptr_t) noexcept {
    return std::nullopt;
}

bool has_environment(const char *name) {
    return GetEnvironmentVariableA(name, nullptr, 0) != 0;
}

std::vector<File> files_of_ancestors(std::size_t) {
    return {};
}

std::string program_name() {
    char path[MAX_PATH] = "";
    GetModuleFileNameA(nullptr, path, sizeof path);
    const std::string file = path;
    return file.substr(file.find_last_of("\\/") + 1);
}

void with_exit_status(void (*)(int)) {} // exit handlers are not told

std::string environment(const char *name) {
    char small[4096];
    const DWORD length = GetEnvironmentVariableA(name, small, sizeof small);
    if (length < sizeof small) {
        return std::string(small, length);
    }
    std::string text(length, '\0');
    text.resize(GetEnvironmentVariableA(name, text.data(), length));
    return text;
}

void around_fork(void (*)(), void (*)(), void (*)()) {}

void after_fork_in_child(void (*)()) {}

bool threads_run_at_exit() noexcept {
    return false;
}

void (*function_of(const std::string &library, const char *name, std::string &why))() {
    const HMODULE handle = LoadLibraryA(library.c_str());
    const auto found =
        reinterpret_cast<void (*)()>(handle != nullptr ? GetProcAddress(handle, name) : nullptr);
    if (found == nullptr) {
        why = library + (handle != nullptr ? std::string(" has no function ") + name
                                           : ": error " + std::to_string(GetLastError()));
    }
    return found;
}

void stay_loaded() noexcept {
    HMODULE self = nullptr;
    (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                             reinterpret_cast<LPCWSTR>(&stay_loaded), &self);
}

// The program's own exit handlers have run already; those of a library run when it is unloaded.
void exit_with(int status) {
    std::fflush(nullptr);
    TerminateProcess(GetCurrentProcess(), static_cast<UINT>(status));
    std::_Exit(status);
}

void sleep_us(std::uint64_t microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

} // namespace sim::platform
