// State that processes share: a small memory file that each of them maps, and waits on by asking
// again.
#pragma once

#include "base/platform.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace sim {

// A memory file, mapped whole for as long as this lives. Its first word is a magic number.
class SharedFile {
  public:
    // Of zeros but for the magic number; null where the system refuses.
    static std::shared_ptr<SharedFile> create(std::uint64_t magic, std::size_t size);
    // Null where the file is not of that size, or has another magic number.
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

// The same with a type: T begins with `std::uint64_t magic`, names its value as T::own_magic, and
// is meaningful when all zeros.
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

// A process that holds a file open, as one word: its id and the number of its descriptor.
std::uint64_t holder(const platform::File &own) noexcept;
// Whether that process lives and still has the descriptor.
bool still_holds(std::uint64_t holder);

// A number that no other call of this function gives, in any process.
std::uint64_t unique_number() noexcept;

// An event that processes share. Every record of it, in whichever process, gets the next number.
class SharedEvent {
  public:
    // Null where the system refuses.
    static std::shared_ptr<SharedEvent> create();
    // Of another process; null where the file is not an event's, or is another one's.
    static std::shared_ptr<SharedEvent> open(platform::File file, std::uint64_t identity);
    ~SharedEvent();

    // A record is queued: its number, never 0.
    std::uint64_t begin_record() noexcept;
    // It ran.
    void end_record(std::uint64_t number) noexcept;
    // The newest record; 0 where there was none.
    std::uint64_t newest() const noexcept;
    // Whether that record ran, or never will since its process is gone. To be asked again and
    // again.
    bool reached(std::uint64_t number) const;

    bool own() const noexcept { return own_; } // made by this process
    // Whether the process that made it has destroyed it since; what is done with it then is
    // undefined.
    bool exporter_destroyed() const noexcept;
    // The event that its process made is destroyed. Others that hold it open are told.
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
            std::atomic<std::uint64_t> done; // number of the newest of these that ran
            std::atomic<std::uint64_t> by;   // holder() of who queued the newest
        } ring[records];                     // record n is at n % records
    };

    SharedEvent(Shared<State> state, bool own) noexcept : state_(std::move(state)), own_(own) {}

    Shared<State> state_;
    bool own_;
};

} // namespace sim
