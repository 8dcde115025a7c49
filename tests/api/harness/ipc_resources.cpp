#include "ipc_resources.hpp"

#include <cushim/fd_channel.hpp>

#ifndef _WIN32

#include <algorithm>
#include <string_view>

namespace api_test {

using namespace cushim;

namespace {

constexpr PhysicalMemoryOptions shareable{.exportable = {.posix_fd = true}};

Result<MappedRange> map_for(const Worker &worker, const PhysicalMemory &memory) {
    CUSHIM_TRY(const auto range, AddressRange::reserve(worker.device, memory.size()));
    return MappedRange::map(range, 0, memory, AccessGrant(worker.device, AccessFlags::read_write));
}

constexpr const char *foreign = "the memory has words without the tag";

void keep_first(Result<void> &first, const Result<void> &next) {
    if (first && !next) {
        first = next;
    }
}

} // namespace

Result<void> check_words(const Worker &worker, DeviceSpan<const int> memory) {
    CUSHIM_TRY(const auto words, worker.read(memory));
    const bool tagged = std::all_of(words.begin(), words.end(), [](int word) {
        return (word & resource_tag_mask) == resource_tag;
    });
    return tagged ? Result<void>() : Error::invalid_argument(foreign);
}

bool is_foreign(const Error &error) {
    return std::string_view(error.message()).ends_with(foreign);
}

// --- messages

Result<void> ResourceMessage::send(int socket) const {
    CUSHIM_TRY_VOID(send_fd(socket, mapped.get(), std::as_bytes(std::span(&handles, 1))));
    return send_fd(socket, pool.get());
}

Result<ResourceMessage> ResourceMessage::receive(int socket) {
    ResourceMessage message{};
    CUSHIM_TRY(message.mapped,
               receive_fd(socket, std::as_writable_bytes(std::span(&message.handles, 1))));
    CUSHIM_TRY(message.pool, receive_fd(socket));
    return message;
}

// --- the exporting process

Result<IpcResources> IpcResources::make(const Worker &worker) {
    IpcResources resources;
    CUSHIM_TRY(resources.memory_, DeviceBuffer<int>::allocate(worker.context, resource_words));
    CUSHIM_TRY(resources.written_, Event::interprocess(worker.context));
    CUSHIM_TRY(resources.pool_,
               MemoryPool::create(worker.device, {.exportable = {.posix_fd = true}}));
    CUSHIM_TRY(resources.from_pool_,
               PoolBuffer<int>::allocate(resources.pool_, worker.stream, resource_words));
    CUSHIM_TRY(const auto granularity, Granularity::of(worker.device, shareable));
    CUSHIM_TRY(const std::size_t size, granularity.round_up(resource_words * sizeof(int)));
    CUSHIM_TRY(resources.physical_, PhysicalMemory::create(worker.device, size, shareable));
    CUSHIM_TRY(resources.mapped_, map_for(worker, resources.physical_));
    CUSHIM_TRY_VOID(resources.write(worker, 0));
    return resources;
}

Result<ResourceMessage> IpcResources::to_message(const Worker &worker) const {
    ResourceMessage message{};
    CUSHIM_TRY(const auto exported, IpcExport::of(worker.context, memory_.span()));
    message.handles.memory = exported.bytes();
    CUSHIM_TRY(message.handles.event, export_event(worker.context, written_));
    CUSHIM_TRY(message.pool, pool_.export_fd());
    CUSHIM_TRY(message.handles.pointer, from_pool_.export_pointer());
    message.handles.mapped_size = physical_.size();
    CUSHIM_TRY(message.mapped, physical_.export_fd());
    return message;
}

Result<void> IpcResources::write(const Worker &worker, int value) {
    for (const auto span : {memory_.span(), from_pool_.span(), mapped_.span<int>()}) {
        CUSHIM_TRY_VOID(fill(worker.stream, span, resource_tag | value));
    }
    CUSHIM_TRY_VOID(written_.record(worker.stream));
    return worker.stream.synchronize();
}

// --- the importing processes

Result<OpenedIpcResources> OpenedIpcResources::open(const Worker &worker,
                                                    const ResourceMessage &message) {
    OpenedIpcResources opened;
    CUSHIM_TRY(const auto exported, IpcExport::from_bytes(message.handles.memory));
    CUSHIM_TRY(opened.memory_, IpcMemory::open(worker.context, exported));
    CUSHIM_TRY(opened.written_, open_event(worker.context, message.handles.event));
    CUSHIM_TRY(opened.pool_, MemoryPool::import_fd(message.pool.get()));
    CUSHIM_TRY(opened.from_pool_,
               PoolBuffer<int>::import_from(opened.pool_, worker.stream, message.handles.pointer,
                                            resource_words));
    CUSHIM_TRY(const auto physical,
               PhysicalMemory::import_fd(message.mapped.get(), message.handles.mapped_size));
    CUSHIM_TRY(opened.mapped_, map_for(worker, physical));
    return opened;
}

Result<void> OpenedIpcResources::use(const Worker &worker, int value) {
    CUSHIM_TRY_VOID(written_.query());
    const DeviceSpan<int> from_pool = from_pool_.span();
    CUSHIM_TRY(const auto memory, memory_.as<int>());
    for (const auto span : {memory, from_pool, mapped_.span<int>()}) {
        CUSHIM_TRY_VOID(check_words(worker, span));
        CUSHIM_TRY(const auto head, span.subspan(0, 100));
        CUSHIM_TRY_VOID(fill(worker.stream, head, resource_tag | value));
    }
    return worker.stream.synchronize();
}

Result<void> OpenedIpcResources::close(const Worker &worker) {
    Result<void> first = mapped_.close();
    keep_first(first, from_pool_.close());
    keep_first(first, worker.stream.synchronize());
    keep_first(first, pool_.close());
    keep_first(first, written_.close());
    keep_first(first, memory_.close());
    return first;
}

} // namespace api_test

#endif
