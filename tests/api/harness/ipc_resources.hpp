// Resources that one process makes and others open: memory and an event by IPC handles, pool memory
// and mapped memory by descriptors. fd_channel.hpp sends them.
#pragma once

#ifndef _WIN32

#include "devices.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/ipc.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pool_buffer.hpp>
#include <cushim/virtual_memory.hpp>

#include <cstddef>

namespace api_test {

// Every process writes only words with this tag.
inline constexpr int resource_tag = 0x5a000000, resource_tag_mask = 0x7f000000;
inline constexpr std::size_t resource_words = 50'000; // words of each kind

// Fails if a word lacks the tag; is_foreign() recognizes that error.
cushim::Result<void> check_words(const Worker &worker, cushim::DeviceSpan<const int> memory);
bool is_foreign(const cushim::Error &error);

// The handles sent to other processes.
struct ResourceHandles {
    cushim::IpcExport::Bytes memory;
    cushim::IpcEventHandle event;
    cushim::PoolPointer pointer;
    std::size_t mapped_size; // bytes
};

// A received message, which can be sent on.
struct ResourceMessage {
    ResourceHandles handles;
    cushim::UniqueFd mapped;
    cushim::UniqueFd pool;

    cushim::Result<void> send(int socket) const;
    static cushim::Result<ResourceMessage> receive(int socket);
};

// The resources of the exporting process.
class IpcResources {
  public:
    static cushim::Result<IpcResources> make(const Worker &worker);
    cushim::Result<ResourceMessage> to_message(const Worker &worker) const;
    // Writes all resources and waits.
    cushim::Result<void> write(const Worker &worker, int value);

  private:
    cushim::DeviceBuffer<int> memory_;
    cushim::Event written_;
    cushim::MemoryPool pool_;
    cushim::PoolBuffer<int> from_pool_;
    cushim::PhysicalMemory physical_;
    cushim::MappedRange mapped_;
};

// Resources of another process, whose memory must outlive them. If that process dies, CUDA keeps
// the memory.
class OpenedIpcResources {
  public:
    static cushim::Result<OpenedIpcResources> open(const Worker &worker,
                                                   const ResourceMessage &message);
    // Reads and writes all resources. Queries the event instead of waiting for it: if the exporting
    // process is dead, it may never be recorded.
    cushim::Result<void> use(const Worker &worker, int value);
    // Closes all resources; returns the first failure.
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
