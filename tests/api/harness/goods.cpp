#include "goods.hpp"

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

constexpr const char *foreign = "memory of nobody's writing";

void keep_first(Result<void> &first, const Result<void> &next) {
    if (first && !next) {
        first = next;
    }
}

} // namespace

Result<void> check_words(const Worker &worker, DeviceSpan<const int> memory) {
    CUSHIM_TRY(const auto words, worker.read(memory));
    const bool tagged = std::all_of(words.begin(), words.end(),
                                    [](int word) { return (word & goods_tag_mask) == goods_tag; });
    return tagged ? Result<void>() : Error::invalid_argument(foreign);
}

bool is_foreign(const Error &error) {
    return std::string_view(error.message()).ends_with(foreign);
}

// --- on the way

Result<void> Parcel::send(int socket) const {
    CUSHIM_TRY_VOID(send_fd(socket, mapped.get(), std::as_bytes(std::span(&package, 1))));
    return send_fd(socket, pool.get());
}

Result<Parcel> Parcel::receive(int socket) {
    Parcel parcel{};
    CUSHIM_TRY(parcel.mapped,
               receive_fd(socket, std::as_writable_bytes(std::span(&parcel.package, 1))));
    CUSHIM_TRY(parcel.pool, receive_fd(socket));
    return parcel;
}

// --- the maker's

Result<Goods> Goods::make(const Worker &worker) {
    Goods goods;
    CUSHIM_TRY(goods.memory_, DeviceBuffer<int>::allocate(worker.context, goods_count));
    CUSHIM_TRY(goods.written_, Event::interprocess(worker.context));
    CUSHIM_TRY(goods.pool_, MemoryPool::create(worker.device, {.exportable = {.posix_fd = true}}));
    CUSHIM_TRY(goods.from_pool_,
               PoolBuffer<int>::allocate(goods.pool_, worker.stream, goods_count));
    CUSHIM_TRY(const auto granularity, Granularity::of(worker.device, shareable));
    CUSHIM_TRY(const std::size_t size, granularity.round_up(goods_count * sizeof(int)));
    CUSHIM_TRY(goods.physical_, PhysicalMemory::create(worker.device, size, shareable));
    CUSHIM_TRY(goods.mapped_, map_for(worker, goods.physical_));
    CUSHIM_TRY_VOID(goods.write(worker, 0));
    return goods;
}

Result<Parcel> Goods::pack(const Worker &worker) const {
    Parcel parcel{};
    CUSHIM_TRY(const auto exported, IpcExport::of(worker.context, memory_.span()));
    parcel.package.memory = exported.bytes();
    CUSHIM_TRY(parcel.package.event, export_event(worker.context, written_));
    CUSHIM_TRY(parcel.pool, pool_.export_fd());
    CUSHIM_TRY(parcel.package.pointer, from_pool_.export_pointer());
    parcel.package.mapped_size = physical_.size();
    CUSHIM_TRY(parcel.mapped, physical_.export_fd());
    return parcel;
}

Result<void> Goods::write(const Worker &worker, int value) const {
    for (const auto span : {memory_.span(), from_pool_.span(), mapped_.span<int>()}) {
        CUSHIM_TRY_VOID(fill(worker.stream, span, goods_tag | value));
    }
    CUSHIM_TRY_VOID(written_.record(worker.stream));
    return worker.stream.synchronize();
}

// --- the others'

Result<OpenedGoods> OpenedGoods::open(const Worker &worker, const Parcel &parcel) {
    OpenedGoods opened;
    CUSHIM_TRY(const auto exported, IpcExport::from_bytes(parcel.package.memory));
    CUSHIM_TRY(opened.memory_, IpcMemory::open(worker.context, exported));
    CUSHIM_TRY(opened.written_, open_event(worker.context, parcel.package.event));
    CUSHIM_TRY(opened.pool_, MemoryPool::import_fd(parcel.pool.get()));
    CUSHIM_TRY(opened.from_pool_,
               PoolBuffer<int>::import_from(opened.pool_, worker.stream, parcel.package.pointer,
                                            goods_count));
    CUSHIM_TRY(const auto physical,
               PhysicalMemory::import_fd(parcel.mapped.get(), parcel.package.mapped_size));
    CUSHIM_TRY(opened.mapped_, map_for(worker, physical));
    return opened;
}

Result<void> OpenedGoods::use(const Worker &worker, int value) const {
    CUSHIM_TRY_VOID(written_.query());
    const DeviceSpan<int> from_pool = from_pool_.span();
    CUSHIM_TRY(const auto memory, memory_.as<int>());
    for (const auto span : {memory, from_pool, mapped_.span<int>()}) {
        CUSHIM_TRY_VOID(check_words(worker, span));
        CUSHIM_TRY(const auto head, span.subspan(0, 100));
        CUSHIM_TRY_VOID(fill(worker.stream, head, goods_tag | value));
    }
    return worker.stream.synchronize();
}

Result<void> OpenedGoods::close(const Worker &worker) {
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
