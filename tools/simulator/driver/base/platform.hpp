// What the simulator needs of the operating system. platform_posix.cpp, platform_windows.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sim::platform {

// A memory file: bytes that can be mapped several times, and by several processes. Owns its
// descriptor (POSIX) or section handle (Windows).
class File {
  public:
    File() = default;
    // Of zeros. Invalid where the system refuses.
    static File create(std::size_t size);
    // Takes over what the client or another process hands in.
    static File adopt(std::intptr_t handle) noexcept;
    File(File &&other) noexcept;
    File &operator=(File &&other) noexcept;
    ~File();

    bool valid() const noexcept { return handle_ != invalid; }
    std::intptr_t handle() const noexcept { return handle_; }
    File duplicate() const; // invalid where the system refuses
    // Gives up ownership of the handle.
    std::intptr_t release() noexcept {
        const std::intptr_t handle = handle_;
        handle_ = invalid;
        return handle;
    }
    std::size_t size() const; // bytes; 0 where it is no memory file
    // Maps it for the simulator's own use; null where the system refuses.
    std::byte *map(std::size_t offset, std::size_t size) const;
    // Maps it over a part of a reservation made by reserve_view(): contiguous with its neighbours.
    // All three are multiples of map_granularity(). False where the system refuses.
    bool map_at(std::byte *where, std::size_t offset, std::size_t size, bool accessible) const;
    // Gives the pages back to the system; they read as zeros afterwards.
    void discard(std::size_t offset, std::size_t size) const;

  private:
    static constexpr std::intptr_t invalid = -1;
    std::intptr_t handle_ = invalid;
};
void unmap(std::byte *view, std::size_t size);

// What tells one open file from another.
struct FileIdentity {
    std::uint64_t device, node;
    bool operator==(const FileIdentity &) const = default;
};
// Nothing where the descriptor is not open, or the system has no such thing (Windows).
std::optional<FileIdentity> identity_of(std::intptr_t descriptor) noexcept;

std::size_t page_size() noexcept;
// Of offsets into files that are mapped, and of where they are mapped to.
std::size_t map_granularity() noexcept;
// Bytes of memory that this machine has.
std::size_t host_memory() noexcept;

// Address space that nobody can read or write; null where the system refuses.
void *reserve(std::size_t size);
// Makes whole pages of what reserve() gave memory of zeros, and address space again: what was in
// them is lost. False where the system refuses.
bool commit(void *pages, std::size_t size);
void decommit(void *pages, std::size_t size);

// Address space like that of reserve(), into which File::map_at() can map. Null where the system
// refuses.
std::byte *reserve_view(std::size_t size);
void unreserve_view(std::byte *view, std::size_t size); // and whatever is mapped in it
// Ends what one or several whole map_at() mapped there: inaccessible again.
void unmap_at(std::byte *where, std::size_t size);
enum class Access : unsigned char { none, read, read_write };
// Of pages that are mapped.
void protect(std::byte *where, std::size_t size, Access access);

// Whether something is mapped everywhere in [begin, begin+size).
bool is_accessible(const void *begin, std::size_t size) noexcept;

std::uint64_t process_id() noexcept;
// A descriptor of another process of the same user, or invalid.
File open_of_process(std::uint64_t process, std::intptr_t handle);
// The value of an environment variable, or "".
std::string environment(const char *name);
// Whether there is one, be it empty.
bool has_environment(const char *name);
// Calls the first in the parent before every fork from now on, and the others after it.
void around_fork(void (*before)(), void (*in_parent)(), void (*in_child)());
// Calls `function` in the child after every fork from now on.
void after_fork_in_child(void (*function)());
// Whether other threads go on while exit handlers of this library are called.
bool threads_run_at_exit() noexcept;
// A function of a shared library, which stays open; null where there is none, and why. A name
// without a folder is looked for as the system does.
void (*function_of(const std::string &library, const char *name, std::string &why))();
// Keeps this library in the process, whoever closes it.
void stay_loaded() noexcept;
// To be called while the process exits: it ends with that status, whatever it was to be. Its other
// exit handlers are called where the system can do that.
[[noreturn]] void exit_with(int status);
void sleep_us(std::uint64_t microseconds);

} // namespace sim::platform
