// What one process makes and others open: memory and an event by IPC handles, memory of a pool, and
// mapped memory by descriptors. They travel by fd_channel.hpp.
#pragma once

#ifndef _WIN32

#include "devices.hpp"

#include <cstddef>

namespace api_test {

// All words of resources are so tagged, by whoever writes them.
inline constexpr int resource_tag = 0x5a000000, resource_tag_mask = 0x7f000000;
inline constexpr std::size_t resource_words = 50'000; // words of each kind

// That all words are tagged; and whether an error says that some are not.
cushim::Result<void> check_words(const Worker &worker, cushim::DeviceSpan<const int> memory);
bool is_foreign(const cushim::Error &error);

// What the others are told.
struct ResourceHandles {
    cushim::IpcExport::Bytes memory;
    cushim::IpcEventHandle event;
    cushim::PoolPointer pointer;
    std::size_t mapped_size; // bytes
};

// What has arrived, and can be passed on.
struct ResourceMessage {
    ResourceHandles handles;
    cushim::UniqueFd mapped;
    cushim::UniqueFd pool;

    cushim::Result<void> send(int socket) const;
    static cushim::Result<ResourceMessage> receive(int socket);
};

// The maker's.
class IpcResources {
  public:
    static cushim::Result<IpcResources> make(const Worker &worker);
    cushim::Result<ResourceMessage> to_message(const Worker &worker) const;
    // Writes all of them anew, and waits.
    cushim::Result<void> write(const Worker &worker, int value) const;

  private:
    cushim::DeviceBuffer<int> memory_;
    cushim::Event written_;
    cushim::MemoryPool pool_;
    cushim::PoolBuffer<int> from_pool_;
    cushim::PhysicalMemory physical_;
    cushim::MappedRange mapped_;
};

// Those of another process. Its memory must last until these are gone; if that process dies, CUDA
// keeps it.
class OpenedIpcResources {
  public:
    static cushim::Result<OpenedIpcResources> open(const Worker &worker,
                                                   const ResourceMessage &message);
    // Reads and writes all of them. Never waits for the event, which nobody records any more once
    // its maker is dead: asks for it.
    cushim::Result<void> use(const Worker &worker, int value) const;
    // All of it; the first failure.
    cushim::Result<void> close(const Worker &worker);

  private:
    cushim::IpcMemory memory_;
    cushim::Event written_;
    cushim::MemoryPool pool_;
    cushim::PoolBuffer<int> from_pool_;
    cushim::MappedRange mapped_;
};

} // namespace api_test

#endif
