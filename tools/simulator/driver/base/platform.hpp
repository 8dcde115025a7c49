// Operating system services for the simulator. platform_posix.cpp, platform_windows.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim::platform {

// A memory file: bytes that several processes can map, each several times. Owns its descriptor
// (POSIX) or section handle (Windows).
class File {
  public:
    File() = default;
    // Filled with zeros. No process can change its size, if the system supports that. Invalid if
    // the system call fails.
    static File create(std::size_t size);
    // Takes ownership of a handle from the client or another process.
    static File adopt(std::intptr_t handle) noexcept;
    File(File &&other) noexcept : handle_(other.release()) {}
    File &operator=(File &&other) noexcept {
        if (this != &other) {
            close();
            handle_ = other.release();
        }
        return *this;
    }
    ~File() { close(); }

    bool valid() const noexcept { return handle_ != invalid; }
    std::intptr_t handle() const noexcept { return handle_; }
    File duplicate() const; // invalid if the system call fails
    // Gives up ownership of the handle.
    std::intptr_t release() noexcept {
        const std::intptr_t handle = handle_;
        handle_ = invalid;
        return handle;
    }
    std::size_t size() const; // in bytes; 0 if it is not a memory file
    // Whether another owner of the file can make it smaller: use of the lost bytes is then fatal.
    bool can_shrink() const noexcept;
    // Maps it for the simulator's own use; null if the system call fails.
    std::byte *map(std::size_t offset, std::size_t size) const;
    // Maps it over a part of a reservation made by reserve_view(), contiguous with its neighbors.
    // All three arguments are multiples of map_granularity(). False if the system call fails.
    bool map_at(std::byte *where, std::size_t offset, std::size_t size, bool accessible) const;
    // Returns the pages to the system; they then read as zeros.
    void discard(std::size_t offset, std::size_t size) const;

  private:
    static constexpr std::intptr_t invalid = -1;
    std::intptr_t handle_ = invalid;

    void close() noexcept;
};
void unmap(std::byte *view, std::size_t size);

// Identifies an open file.
struct FileIdentity {
    std::uint64_t device, node;
    bool operator==(const FileIdentity &) const = default;
};
// No value if the descriptor is not open, or on Windows.
std::optional<FileIdentity> identity_of(std::intptr_t descriptor) noexcept;

std::size_t page_size() noexcept;
// The granularity of offsets into mapped files, and of the addresses they are mapped to.
std::size_t map_granularity() noexcept;
// Bytes of memory of this machine.
std::size_t host_memory() noexcept;

// Inaccessible address space; null if the system call fails.
void *reserve(std::size_t size);
// commit() turns whole pages of a reserve() range into zero-filled memory, false if the system call
// fails. decommit() turns them back into address space; their contents are lost.
bool commit(void *pages, std::size_t size);
void decommit(void *pages, std::size_t size);

// Address space like that of reserve(), into which File::map_at() can map. Null if the system call
// fails.
std::byte *reserve_view(std::size_t size);
void unreserve_view(std::byte *view, std::size_t size); // unmaps its files too
// Unmaps one or several whole map_at() mappings; the range is inaccessible again.
void unmap_at(std::byte *where, std::size_t size);
enum class Access : unsigned char { none, read, read_write };
// Sets the access to mapped pages.
void protect(std::byte *where, std::size_t size, Access access);

// Whether every page of [begin, begin+size) is mapped; cheap.
bool is_mapped(const void *begin, std::size_t size) noexcept;
// Whether every page of [begin, begin+size) is mapped and can be read or written.
bool is_accessible(const void *begin, std::size_t size, Access access) noexcept;

std::uint64_t process_id() noexcept;
// A copy of a descriptor of another process of the same user, or invalid.
File open_of_process(std::uint64_t process, std::intptr_t handle);
// Copies of the memory files of that size that the ancestors of this process hold. Empty where the
// system does not show them.
std::vector<File> files_of_ancestors(std::size_t size);
// The name of the program that this process runs.
std::string program_name();
// Calls the function when the process exits, with its exit status, if the system reports that.
void with_exit_status(void (*function)(int status));
// The value of an environment variable, or "".
std::string environment(const char *name);
// Whether the variable exists; it may be empty.
bool has_environment(const char *name);
// Calls the first function in the parent before every later fork, and the others after it.
void around_fork(void (*before)(), void (*in_parent)(), void (*in_child)());
// Calls `function` in the child after every later fork.
void after_fork_in_child(void (*function)());
// Whether other threads keep running while exit handlers of this library run.
bool threads_run_at_exit() noexcept;
// A function of a shared library, which stays open. Null on failure; `why` is then set. The
// system searches for a library name without a folder.
void (*function_of(const std::string &library, const char *name, std::string &why))();
// Keeps this library in the process even if the program closes it.
void stay_loaded() noexcept;
// Called while the process exits: makes `status` the exit status. The remaining exit handlers run
// if the system supports that.
[[noreturn]] void exit_with(int status);
void sleep_us(std::uint64_t microseconds);

} // namespace sim::platform
