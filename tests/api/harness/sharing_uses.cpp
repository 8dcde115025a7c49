// Uses of virtual memory, pools, exports and imports, as far as one process can make them.
#include "imported_uses.hpp"
#include "simulator.hpp"
#include "uses.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/ipc.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pool_buffer.hpp>

#ifndef _WIN32
#include <fcntl.h>
#endif

namespace api_test {
namespace {

using namespace cushim;

constexpr std::size_t count = 3000;

AccessGrant read_write(const Workplace &place) {
    return {place.device, AccessFlags::read_write};
}

struct Mapped {
    PhysicalMemory memory;
    MappedRange range;
};
Result<Mapped> map_new(const Workplace &place, const PhysicalMemoryOptions &options) {
    CUSHIM_TRY(const auto granularity, Granularity::of(place.device, options));
    CUSHIM_TRY(const std::size_t size, granularity.round_up(count * sizeof(int)));
    CUSHIM_TRY(auto memory, PhysicalMemory::create(place.device, size, options));
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, size));
    CUSHIM_TRY(auto mapped, MappedRange::map(range, 0, memory, read_write(place)));
    return Mapped{std::move(memory), std::move(mapped)};
}

Result<void> use_mapped_ranges(const Workplace &place) {
    CUSHIM_TRY(const Mapped mapped, map_new(place, {}));
    const auto words = mapped.range.span<int>();
    CUSHIM_TRY_VOID(must_be_on(place, mapped.range.native()));
    CUSHIM_TRY_VOID(fill(place.context, words, 21));
    CUSHIM_TRY(const auto access, mapped.range.get_access(place.device));
    CUSHIM_TRY_VOID(must(access == AccessFlags::read_write, "the access is not what was granted"));
    CUSHIM_TRY(const auto retained, PhysicalMemory::retain_from(mapped.range.native()));
    CUSHIM_TRY_VOID(must(retained.size() == mapped.memory.size(), "other memory is mapped"));
    return must_be_filled(place.context, words, 21);
}

Result<void> use_growable_buffers(const Workplace &place) {
    constexpr std::size_t step = 1u << 19; // elements
    CUSHIM_TRY(auto buffer, GrowableBuffer<int>::create(place.device, 4 * step));
    const CUdeviceptr address = buffer.native();
    CUSHIM_TRY_VOID(buffer.resize(step));
    CUSHIM_TRY_VOID(must_be_on(place, address));
    CUSHIM_TRY_VOID(fill(place.context, buffer.span(), 22));
    CUSHIM_TRY_VOID(buffer.resize(2 * step));
    CUSHIM_TRY_VOID(must(buffer.native() == address, "the buffer moved while it grew in place"));
    CUSHIM_TRY(const auto first, buffer.span().subspan(0, step));
    CUSHIM_TRY_VOID(must_be_filled(place.context, first, 22));
    CUSHIM_TRY_VOID(buffer.resize(count));
    CUSHIM_TRY_VOID(buffer.shrink_to_fit());
    CUSHIM_TRY_VOID(buffer.reserve(8 * step));
    return must_be_filled(place.context, buffer.span(), 22);
}

Result<void> use_pools(const Workplace &place) {
    CUSHIM_TRY(const auto pool, MemoryPool::create(place.device));
    CUSHIM_TRY(auto buffer, PoolBuffer<int>::allocate(pool, place.stream, count));
    CUSHIM_TRY_VOID(must_be_on(place, buffer.native()));
    CUSHIM_TRY_VOID(fill(place.stream, buffer.span(), 23));
    CUSHIM_TRY_VOID(place.stream.synchronize());
    CUSHIM_TRY_VOID(must_be_filled(place.context, buffer.span(), 23));
    CUSHIM_TRY_VOID(buffer.close());
    CUSHIM_TRY_VOID(place.stream.synchronize());
    return pool.trim_to(0);
}

Result<void> export_by_ipc(const Workplace &place) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY(const Event event, Event::interprocess(place.context));
    CUSHIM_TRY(const auto exported, IpcExport::of(place.context, buffer.span()));
    CUSHIM_TRY(const auto handle, export_event(place.context, event));
    const auto own = IpcMemory::open(place.context, exported);
    CUSHIM_TRY_VOID(must(!own && own.error().kind() == ErrorKind::wrong_context,
                         "memory was opened in the process that exported it"));
    return must(!open_event(place.context, handle),
                "an event was opened in the process that exported it");
}

#ifndef _WIN32

constexpr ExportKinds exportable{.posix_fd = true};

Result<void> export_pools(const Workplace &place) {
    CUSHIM_TRY(const auto pool, MemoryPool::create(place.device, {.exportable = exportable}));
    CUSHIM_TRY(auto buffer, PoolBuffer<int>::allocate(pool, place.stream, count));
    CUSHIM_TRY_VOID(place.stream.synchronize());
    CUSHIM_TRY(const UniqueFd first, pool.export_fd());
    CUSHIM_TRY(const UniqueFd second, pool.export_fd());
    CUSHIM_TRY(const PoolPointer pointer, buffer.export_pointer());
    (void)pointer;
    return must(first.get() != second.get(), "two exports returned the same descriptor");
}

Result<void> import_external_memory(const Workplace &place) {
    CUSHIM_TRY(const Mapped mapped, map_new(place, {.exportable = exportable}));
    CUSHIM_TRY_VOID(fill(place.context, mapped.range.span<int>(), 24));
    CUSHIM_TRY(auto fd, mapped.memory.export_fd());
    const std::size_t size = mapped.memory.size();
    auto source = ExternalMemorySource::opaque_fd(std::move(fd));
    CUSHIM_TRY(const auto imported,
               ExternalMemory::import_from(place.context, std::move(source), size));
    CUSHIM_TRY(const auto buffer, imported.map_buffer(0, size));
    CUSHIM_TRY(const auto words, buffer.as<int>());
    CUSHIM_TRY_VOID(must_be_on(place, buffer.native()));
    CUSHIM_TRY_VOID(must_be_filled(place.context, words, 24));
    CUSHIM_TRY_VOID(fill(place.context, words, 25));
    return must_be_filled(place.context, mapped.range.span<int>(), 25);
}

// Imports and maps the same memory again, as another process would.
Result<void> import_physical_memory(const Workplace &place) {
    CUSHIM_TRY(const Mapped mapped, map_new(place, {.exportable = exportable}));
    CUSHIM_TRY_VOID(fill(place.context, mapped.range.span<int>(), 26));
    CUSHIM_TRY(const UniqueFd fd, mapped.memory.export_fd());
    const std::size_t size = mapped.memory.size();
    CUSHIM_TRY(const auto imported, PhysicalMemory::import_fd(fd.get(), size));
    CUSHIM_TRY(const auto range, AddressRange::reserve(place.device, size));
    CUSHIM_TRY(const auto again, MappedRange::map(range, 0, imported, read_write(place)));
    return must_be_filled(place.context, again.span<int>(), 26);
}

Result<void> import_what_is_none(const Workplace &place) {
    const auto nothing = [] { return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)); };
    const auto memory = ExternalMemory::import_from(
        place.context, ExternalMemorySource::opaque_fd(nothing()), 1u << 20);
    const auto semaphore = BinarySemaphore::import_fd(place.context, nothing());
    const UniqueFd kept = nothing();
    const auto physical = PhysicalMemory::import_fd(kept.get(), 2u << 20);
    return must(!memory && !semaphore && !physical, "a descriptor of /dev/null was imported");
}

// On a GPU another API is needed: see external_vulkan_test.cpp and soak_vulkan.cpp.
Result<void> need_simulator() {
    return simulator() != nullptr
               ? Result<void>()
               : Error::unsupported_platform("this needs an object of another API");
}

Result<void> import_semaphores(const Workplace &place) {
    CUSHIM_TRY_VOID(need_simulator());
    CUSHIM_TRY_VOID(use_timeline(place, UniqueFd(simulator()->make_semaphore_fd(0)), 0));
    return use_binary(place, UniqueFd(simulator()->make_semaphore_fd(0)));
}

Result<void> import_images(const Workplace &place) {
    CUSHIM_TRY_VOID(need_simulator());
    CUSHIM_TRY(const Mapped mapped, map_new(place, {.exportable = exportable}));
    CUSHIM_TRY(auto fd, mapped.memory.export_fd());
    return use_image(place, {.source = ExternalMemorySource::opaque_fd(std::move(fd)),
                             .memory_size = mapped.memory.size(),
                             .width = 64,
                             .height = 32,
                             .levels = 3});
}

#endif

constexpr Use uses[] = {
    {"mapped ranges", use_mapped_ranges},
    {"growable buffers", use_growable_buffers},
    {"pools", use_pools},
    {"exports by IPC", export_by_ipc},
#ifndef _WIN32
    {"pools that are exported", export_pools},
    {"external memory", import_external_memory},
    {"physical memory that is imported", import_physical_memory},
    {"imports that are refused", import_what_is_none},
    {"semaphores of another API", import_semaphores},
    {"images of another API", import_images},
#endif
};

} // namespace

std::span<const Use> sharing_uses() {
    return uses;
}

} // namespace api_test
