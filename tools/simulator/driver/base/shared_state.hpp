// State that processes share: a small memory file that each of them maps and polls.
#pragma once

#include "base/platform.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace sim {

// A memory file that is mapped for the lifetime of the object. Its first word is a magic number.
class SharedFile {
  public:
    // Zeros after the magic number; null if the system call fails.
    static std::shared_ptr<SharedFile> create(std::uint64_t magic, std::size_t size);
    // Null if the file has another size or another magic number, or can shrink.
    static std::shared_ptr<SharedFile> open(platform::File file, std::uint64_t magic,
                                            std::size_t size);
    ~SharedFile();

    const platform::File &file() const noexcept { return file_; }
    std::byte *bytes() const noexcept { return bytes_; }

    SharedFile(const SharedFile &) = delete;
    SharedFile &operator=(const SharedFile &) = delete;

  private:
    SharedFile(platform::File file, std::byte *bytes, std::size_t size) noexcept;

    platform::File file_;
    std::byte *bytes_;
    std::size_t size_;
};

// The same with a type T, which begins with `std::uint64_t magic`, defines the magic number as
// T::own_magic, and is valid when its other members are zero.
template <class T>
class Shared {
  public:
    static Shared create() { return Shared(SharedFile::create(T::own_magic, sizeof(T))); }
    static Shared open(platform::File file) {
        return Shared(SharedFile::open(std::move(file), T::own_magic, sizeof(T)));
    }
    Shared() = default;

    explicit operator bool() const noexcept { return file_ != nullptr; }
    T *operator->() const noexcept { return reinterpret_cast<T *>(file_->bytes()); }
    const platform::File &file() const noexcept { return file_->file(); }

  private:
    explicit Shared(std::shared_ptr<SharedFile> file) noexcept : file_(std::move(file)) {}
    std::shared_ptr<SharedFile> file_;
};

// Identifies a process that holds a file open: its process id and descriptor in one word.
std::uint64_t holder(const platform::File &own) noexcept;
// Whether that process is alive and its descriptor is open.
bool still_holds(std::uint64_t holder);

// A number that is unique across processes.
std::uint64_t unique_number() noexcept;

// An event that processes share. Every record of it, in any process, gets the next number.
class SharedEvent {
  public:
    // Null if the system call fails.
    static std::shared_ptr<SharedEvent> create();
    // The event of another process; null if the file is not an event or has another identity.
    static std::shared_ptr<SharedEvent> open(platform::File file, std::uint64_t identity);
    ~SharedEvent();

    // A record is enqueued. Returns its number, never 0.
    std::uint64_t begin_record() noexcept;
    // The record has run.
    void end_record(std::uint64_t number) noexcept;
    // The newest record; 0 if none was made.
    std::uint64_t newest() const noexcept;
    // Whether that record has run, or never will because its process has ended. Callers poll it.
    bool reached(std::uint64_t number) const;

    bool own() const noexcept { return own_; } // created by this process
    // Whether the process that created the event has destroyed it. Its use is then undefined.
    bool exporter_destroyed() const noexcept;
    // The event is destroyed in the process that created it; other processes see that.
    void destroyed() noexcept;

    std::uint64_t identity() const noexcept { return state_->identity; }
    const platform::File &file() const noexcept { return state_.file(); }

  private:
    static constexpr std::size_t records = 254;
    struct State {
        static constexpr std::uint64_t own_magic = 0x6375736869657631;
        std::uint64_t magic;
        std::uint64_t identity;
        std::atomic<std::uint64_t> newest;
        std::atomic<std::uint64_t> destroyed;
        struct Record {
            std::atomic<std::uint64_t> done; // number of the newest of these records that has run
            std::atomic<std::uint64_t> by;   // holder() of the process that enqueued the newest
        } ring[records];                     // record n is at n % records
    };

    SharedEvent(Shared<State> state, bool own) noexcept : state_(std::move(state)), own_(own) {}

    Shared<State> state_;
    bool own_;
};

} // namespace sim
