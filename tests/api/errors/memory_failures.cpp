#include "errors/failures.hpp"

#include "harness/checks.hpp"
#include "harness/simulator.hpp"

#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/feature.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/loader.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pitched_buffer.hpp>
#include <cushim/pool_buffer.hpp>
#include <cushim/virtual_memory.hpp>

#include <array>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

using namespace cushim;
using namespace api_test;

namespace {

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
constexpr std::size_t page = 2 << 20; // the granularity of the simulated devices
const Device device = Device::from_native(0);

Context context_of(const char *settings) {
    restart(settings);
    return ok(Context::primary(device));
}

void expect_copies(Failures &failures) {
    const Context context = context_of("fault=cuMemcpy2DUnaligned:1:1");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 8));
    const DeviceSpan<int> span = buffer.span();
    const auto half = ok(span.subspan(0, 4));
    std::vector<int> values(9);
    failures.expect("DeviceSpan::subspan: range [4, 9) exceeds the size of 8 elements",
                    span.subspan(4, 5));
    failures.expect("DeviceSpan::first: range [0, 9) exceeds the size of 8 elements",
                    span.first(9));
    failures.expect("DeviceSpan::last: range [0, 9) exceeds the size of 8 elements", span.last(9));
    failures.expect("DeviceSpan::as: size 12 is not a multiple of the element size of 8 bytes",
                    ok(span.first(3)).as<double>());
    failures.expect("copy: element counts differ: source 9, destination 8",
                    copy(context, span, values));
    failures.expect("copy: the Stream is empty", copy(Stream(), span, span));
    failures.expect("copy: source [0x700000000000, 0x700000000010) and destination "
                    "[0x700000000008, 0x700000000018) overlap",
                    copy(context, DeviceSpan<int>(0x700000000008, 4),
                         DeviceSpan<const int>(0x700000000000, 4)));
    failures.expect("fill: address 0x2 is not a multiple of the element size of 4 bytes",
                    fill(context, DeviceSpan<int>(2, 1), 0));
    const std::span<int> host(values.data(), 8);
    const auto view = ok(HostPitchedSpan<int>::of(host, {4, 2}));
    const auto on_device = ok(DevicePitchedSpan<int>::of(span, {4, 2}));
    failures.expect(
        "HostPitchedSpan::of: extent 4 x 3 x 1 requires 48 bytes, but the memory has 32 bytes",
        HostPitchedSpan<int>::of(host, {4, 3}));
    failures.expect("HostPitchedSpan::part: rows [1, 3) exceed the height of 2",
                    view.part({0, 1}, {4, 2}));
    failures.expect("HostPitchedSpan::row: row 2 of layer 0 is out of range: height 2, depth 1",
                    view.row(2));
    failures.expect("DevicePitchedSpan::of: row pitch 8 is smaller than the row width of 16 bytes",
                    DevicePitchedSpan<int>::of(span, {4, 2}, {8}));
    failures.expect("DevicePitchedSpan::part: elements [2, 5) exceed the width of 4",
                    on_device.part({2}, {3}));
    failures.expect("copy: extents differ: source 4 x 2 x 1, destination 4 x 1 x 1",
                    copy(context, ok(on_device.part({}, {4, 1})), view));
    failures.expect("fill: address 0x2 is not a multiple of the element size of 4 bytes",
                    fill(context, DevicePitchedSpan<int>(2, {4, 2}, {}), 0));
    const Pitch wide{std::size_t(1) << 31, 0};
    failures.expect("copy: row pitch 2147483648 exceeds the limit of 2147483647 bytes "
                    "(cuMemcpy2DUnaligned_v2: CUDA_ERROR_INVALID_VALUE)",
                    copy(context, DevicePitchedSpan<int>(0, {4, 2}, wide), view));
    always_fail_instead("cuMemcpyAsync");
    const auto stream = ok(Stream::create(context));
    failures.expect("copy: unknown error (cuMemcpyAsync: CUDA_ERROR_UNKNOWN)",
                    copy(stream, half, ok(span.subspan(4, 4))));
}

void expect_device_buffers(Failures &failures) {
    const Context context = context_of("memory=64MiB");
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 8));
    failures.expect("DeviceBuffer::allocate: 134217728 bytes requested, 67108832 free "
                    "(cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY)",
                    DeviceBuffer<int>::allocate(context, 32 << 20));
    failures.expect("DeviceBuffer::allocate: 18446744073709551615 elements of 4 bytes exceed the "
                    "address space",
                    DeviceBuffer<int>::allocate(context, all));
    failures.expect("DeviceBuffer::allocate_async: 134217728 bytes requested, 67108832 free "
                    "(cuMemAllocAsync: CUDA_ERROR_OUT_OF_MEMORY)",
                    DeviceBuffer<int>::allocate_async(stream, 32 << 20));
    failures.expect("DeviceBuffer::allocate_zeroed: the Context is empty",
                    DeviceBuffer<int>::allocate_zeroed(Context(), 1));
    failures.expect("DeviceBuffer::allocate_zeroed_async: the Stream is empty",
                    DeviceBuffer<int>::allocate_zeroed_async(Stream(), 1));
    failures.expect("DeviceBuffer::copy_of: the Context is empty",
                    DeviceBuffer<int>::copy_of(Context(), {}));
    failures.expect("DeviceBuffer::adopt: the address is null, but the size is 12 bytes",
                    DeviceBuffer<int>::adopt(context, 0, 3));
    failures.expect("DeviceBuffer::free_async: the Stream is empty", buffer.free_async(Stream()));
    failures.expect("DeviceBuffer::release_after: the Stream is empty",
                    buffer.release_after(Stream()));
    failures.expect("PitchedBuffer::allocate: 134217728 bytes requested, 67108832 free "
                    "(cuMemAllocPitch_v2: CUDA_ERROR_OUT_OF_MEMORY)",
                    PitchedBuffer<int>::allocate(context, {1024, 1024, 32}));
    failures.expect("PitchedBuffer::allocate: extent 1 x 18446744073709551615 x 2 of elements of 4 "
                    "bytes exceeds the address space",
                    PitchedBuffer<int>::allocate(context, {1, all, 2}));
    failures.expect("PitchedBuffer::release_after: the Stream is empty",
                    PitchedBuffer<int>().release_after(Stream()));
    const auto pool = ok(MemoryPool::create(device));
    auto pooled = ok(PoolBuffer<int>::allocate(pool, stream, 1));
    failures.expect("PoolBuffer::allocate: 134217728 bytes requested, 33554400 free, 4 bytes of "
                    "the pool in use (cuMemAllocFromPoolAsync: CUDA_ERROR_OUT_OF_MEMORY)",
                    PoolBuffer<int>::allocate(pool, stream, 32 << 20));
    failures.expect("PoolBuffer::import_from: the MemoryPool is empty",
                    PoolBuffer<int>::import_from(MemoryPool(), stream, {}, 1));
    failures.expect("PoolBuffer::export_pointer: the buffer has no memory",
                    PoolBuffer<int>().export_pointer());
    always_fail_after("cuMemFreeAsync");
    failures.expect("PoolBuffer::close: unknown error (cuMemFreeAsync: CUDA_ERROR_UNKNOWN)",
                    pooled.close());
    always_fail_after("cuMemFree");
    failures.expect("DeviceBuffer::close: unknown error (cuMemFree_v2: CUDA_ERROR_UNKNOWN)",
                    buffer.close());
}

void expect_host_memory(Failures &failures) {
    const Context context =
        context_of("fault=cuMemHostAlloc:1:2:sticky;fault=cuMemHostRegister:1:2;"
                   "attribute.113=0");
    std::vector<int> values(3);
    const std::span<int> three(values);
    failures.expect("PinnedBuffer::allocate: 12 bytes requested (cuMemHostAlloc: "
                    "CUDA_ERROR_OUT_OF_MEMORY)",
                    PinnedBuffer<int>::allocate(context, 3));
    failures.expect("PinnedBuffer::copy_of: 12 bytes requested (cuMemHostAlloc: "
                    "CUDA_ERROR_OUT_OF_MEMORY)",
                    PinnedBuffer<int>::copy_of(context, three));
    failures.expect("PinnedBuffer::adopt: the address is null, but the size is 12 bytes",
                    PinnedBuffer<int>::adopt(context, nullptr, 3));
    const PinnedBuffer<int> no_pinned;
    failures.expect("PinnedBuffer::synchronized_span: the Stream is empty",
                    no_pinned.synchronized_span(Stream()));
    failures.expect("PinnedBuffer::flags: the buffer has no memory", PinnedBuffer<int>().flags());
    failures.expect("PinnedBuffer::release_after: the Stream is empty",
                    PinnedBuffer<int>().release_after(Stream()));
    failures.expect("HostMappedBuffer::allocate: 1 byte requested (cuMemHostAlloc: "
                    "CUDA_ERROR_OUT_OF_MEMORY)",
                    HostMappedBuffer<char>::allocate(context, 1));
    failures.expect("HostMappedBuffer::adopt: 18446744073709551615 elements of 4 bytes exceed the "
                    "address space",
                    HostMappedBuffer<int>::adopt(context, values.data(), all));
    const HostMappedBuffer<int> no_mapped;
    failures.expect("HostMappedBuffer::synchronized_span: the Stream is empty",
                    no_mapped.synchronized_span(Stream()));
    failures.expect("HostMappedBuffer::synchronized_span: the Event is empty",
                    no_mapped.synchronized_span(Event()));
    failures.expect("HostMappedBuffer::flags: the buffer has no memory",
                    HostMappedBuffer<int>().flags());
    failures.expect("HostMappedBuffer::release_after: the Stream is empty",
                    HostMappedBuffer<int>().release_after(Stream()));
    std::array<char, 200> text{};
    std::snprintf(text.data(), text.size(),
                  "HostRegistration::create: 12 bytes at %p could not be registered "
                  "(cuMemHostRegister_v2: CUDA_ERROR_OUT_OF_MEMORY)",
                  static_cast<void *>(values.data()));
    failures.expect(text.data(), HostRegistration<int>::create(context, three));
    failures.expect("HostRegistration::create: read_only is set but the elements are not const; "
                    "use HostRegistration<const T>",
                    HostRegistration<int>::create(context, three, {.read_only = true}));
    failures.expect("HostRegistration::create: device 0 does not support read-only registration; "
                    "clear read_only (CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED is 0)",
                    HostRegistration<const int>::create(context, three, {.read_only = true}),
                    ErrorKind::not_supported_by_device);
    failures.expect("HostRegistration::flags: the HostRegistration is empty",
                    HostRegistration<int>().flags());
    failures.expect("HostRegistration::release_after: Stream::legacy() and Stream::per_thread() "
                    "depend on the current context; use a stream of Stream::create()",
                    HostRegistration<int>().release_after(Stream::legacy()));
}

void expect_managed_buffers(Failures &failures) {
    const Context context = context_of("fault=cuMemAllocManaged:2:2");
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(ManagedBuffer<int>::allocate(context, 8));
    failures.expect("ManagedBuffer::allocate: 4096 bytes requested (cuMemAllocManaged: "
                    "CUDA_ERROR_OUT_OF_MEMORY)",
                    ManagedBuffer<int>::allocate(context, 1024));
    failures.expect(
        "ManagedBuffer::allocate: ManagedAttachment::single needs a stream; allocate with "
        "ManagedAttachment::host, then call attach()",
        ManagedBuffer<int>::allocate(context, 1, {.attachment = ManagedAttachment::single}));
    failures.expect("ManagedBuffer::adopt: the Context is empty",
                    ManagedBuffer<int>::adopt(Context(), 0, 1));
    failures.expect("ManagedBuffer::advise: range [6, 9) exceeds the size of 8 elements",
                    buffer.advise(CU_MEM_ADVISE_SET_READ_MOSTLY, device, 6, 3));
    failures.expect("ManagedBuffer::prefetch: range [6, 9) exceeds the size of 8 elements",
                    buffer.prefetch(stream, device, 6, 3));
    failures.expect("ManagedBuffer::prefetch: device 7 does not exist; the number of devices is 1 "
                    "(cuMemPrefetchAsync: CUDA_ERROR_INVALID_DEVICE)",
                    buffer.prefetch(stream, Device::from_native(7)));
    failures.expect("ManagedBuffer::prefetch: the Stream is empty",
                    buffer.prefetch(Stream(), device));
    failures.expect("ManagedBuffer::attach: the Stream is empty",
                    buffer.attach(Stream(), ManagedAttachment::global));
    const auto scope = ok(context.enter());
    failures.expect("ManagedBuffer::attach: ManagedAttachment::single does not support "
                    "Stream::legacy() and Stream::per_thread(); use a stream of Stream::create() "
                    "(cuStreamAttachMemAsync: CUDA_ERROR_INVALID_VALUE)",
                    buffer.attach(Stream::legacy(), ManagedAttachment::single));
    failures.expect("ManagedBuffer::synchronized_span: the Stream is empty",
                    buffer.synchronized_span(Stream()));
    failures.expect("ManagedBuffer::release_after: the Stream is empty",
                    buffer.release_after(Stream()));
}

// Functions of all buffers that have no row elsewhere.
void expect_typed_buffers(Failures &failures) {
    const Context context = context_of("");
    std::vector<int> values(3);
    const auto stream = ok(Stream::create(context));
    const auto pool = ok(MemoryPool::create(device));
    auto plain = ok(DeviceBuffer<int>::allocate(context, 3));
    auto pooled = ok(PoolBuffer<int>::allocate(pool, stream, 3));
    auto growable = ok(GrowableBuffer<int>::create(device, 3));
    REQUIRE(growable.resize(3));
    auto pitched = ok(PitchedBuffer<int>::allocate(context, {3}));
    auto pinned = ok(PinnedBuffer<int>::allocate(context, 3));
    auto mapped = ok(HostMappedBuffer<int>::allocate(context, 3));
    auto managed = ok(ManagedBuffer<int>::allocate(context, 3));
    auto registered = ok(HostRegistration<int>::create(context, values));
    failures.expect("PoolBuffer::release_after: the Stream is empty",
                    pooled.release_after(Stream()));
    failures.expect("HostRegistration::synchronized_span: the Event is empty",
                    registered.synchronized_span(Event()));
    always_fail_after("cuMemcpyDtoH");
    always_fail_after("cuMemcpyDtoHAsync");
    failures.expect("DeviceBuffer::to_vector: unknown error (cuMemcpyDtoH_v2: CUDA_ERROR_UNKNOWN)",
                    plain.to_vector());
    failures.expect("GrowableBuffer::to_vector: unknown error (cuMemcpyDtoH_v2: "
                    "CUDA_ERROR_UNKNOWN)",
                    growable.to_vector());
    failures.expect("PoolBuffer::to_vector: unknown error (cuMemcpyDtoHAsync_v2: "
                    "CUDA_ERROR_UNKNOWN)",
                    pooled.to_vector());
    always_fail_after("cuMemFree");
    always_fail_after("cuMemFreeHost");
    always_fail_after("cuMemHostUnregister");
    failures.expect("PitchedBuffer::close: unknown error (cuMemFree_v2: CUDA_ERROR_UNKNOWN)",
                    pitched.close());
    failures.expect("ManagedBuffer::close: unknown error (cuMemFree_v2: CUDA_ERROR_UNKNOWN)",
                    managed.close());
    failures.expect("PinnedBuffer::close: unknown error (cuMemFreeHost: CUDA_ERROR_UNKNOWN)",
                    pinned.close());
    failures.expect("HostMappedBuffer::close: unknown error (cuMemFreeHost: CUDA_ERROR_UNKNOWN)",
                    mapped.close());
    failures.expect("HostRegistration::close: unknown error (cuMemHostUnregister: "
                    "CUDA_ERROR_UNKNOWN)",
                    registered.close());
    (void)plain.release(); // its free would fail
}

void expect_virtual_memory(Failures &failures) {
    const Context context = context_of("memory=64MiB");
    const AccessGrant nowhere(Device::from_native(7), AccessFlags::read_write);
    failures.expect("Granularity::round_up: the granularity is 0; query it with Granularity::of()",
                    Granularity().round_up(1));
    failures.expect("Granularity::round_up_recommended: size 18446744073709551615, rounded up to a "
                    "multiple of 2097152 bytes, exceeds the address space",
                    Granularity{page, page}.round_up_recommended(all));
    failures.expect("PhysicalMemory::create: size 100 is not a positive multiple of the "
                    "granularity of 2097152 bytes; use Granularity::round_up()",
                    PhysicalMemory::create(device, 100));
    failures.expect("PhysicalMemory::create: 134217728 bytes requested, 67108864 free "
                    "(cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY)",
                    PhysicalMemory::create(device, 128 << 20));
    failures.expect("PhysicalMemory::adopt: the handle is null", PhysicalMemory::adopt(0, page));
    failures.expect("PhysicalMemory::adopt: the size is 0 bytes", PhysicalMemory::adopt(page, 0));
    failures.expect(
        "PhysicalMemory::retain_from: address 0x1 is not in a mapping, or the driver does not "
        "know its size; if it is mapped, pass the size (cuPointerGetAttribute: "
        "CUDA_ERROR_INVALID_VALUE)",
        PhysicalMemory::retain_from(1));
    failures.expect("PhysicalMemory::properties: the PhysicalMemory is empty",
                    PhysicalMemory().properties());
    failures.expect("AddressRange::reserve: size 100 is not a positive multiple of the page size "
                    "of 4096 bytes; use Granularity::round_up()",
                    AddressRange::reserve(device, 100));
    failures.expect("AddressRange::reserve: hint 0x10 is not a multiple of the page size of 4096 "
                    "bytes",
                    AddressRange::reserve(device, page, {.hint = 16}));
    failures.expect("AddressRange::reserve: alignment 3 is not a power of two",
                    AddressRange::reserve(device, page, {.alignment = 3}));
    failures.expect("AddressRange::adopt: the address is null", AddressRange::adopt(0, page));
    failures.expect("AddressRange::adopt: the size is 0 bytes", AddressRange::adopt(page, 0));
    const auto range = ok(AddressRange::reserve(device, 2 * page));
    const auto memory = ok(PhysicalMemory::create(device, page));
    failures.expect("AddressRange::set_access: device 7 does not exist; the number of devices is "
                    "1 (cuMemSetAccess: CUDA_ERROR_INVALID_VALUE)",
                    range.set_access(0, page, nowhere));
    failures.expect("AddressRange::set_access: range [0, 2097152) is not completely mapped, or "
                    "splits a mapping; map it first, or use MappedRange::set_access() "
                    "(cuMemSetAccess: CUDA_ERROR_INVALID_VALUE)",
                    range.set_access(0, page, {device, AccessFlags::read_write}));
    failures.expect(
        "AddressRange::set_access: range [2097152, 6291456) exceeds the size of 4194304 bytes",
        range.set_access(page, 2 * page, nowhere));
    failures.expect(
        "AddressRange::get_access: offset 4194304 is outside the range of 4194304 bytes",
        range.get_access(2 * page, device));
    failures.expect("MappedRange::map: offset 100 is not a multiple of the granularity of 2097152 "
                    "bytes; use Granularity::round_up()",
                    MappedRange::map(range, 100, memory));
    failures.expect("MappedRange::adopt: range [4194304, 6291456) exceeds the address range of "
                    "4194304 bytes",
                    MappedRange::adopt(range, 2 * page, memory));
    const auto mapped = ok(MappedRange::map(range, 0, memory));
    failures.expect(
        "MappedRange::map: range [0, 2097152) could not be mapped; if part of it is already "
        "mapped, destroy that MappedRange first (cuMemMap: CUDA_ERROR_INVALID_VALUE)",
        MappedRange::map(range, 0, memory));
    failures.expect("MappedRange::get_access: device 7 does not exist; the number of devices is 1 "
                    "(cuMemGetAccess: CUDA_ERROR_INVALID_DEVICE)",
                    mapped.get_access(Device::from_native(7)));
    failures.expect("PhysicalMemory::retain_from: address 0x1 is not in a mapping that a device "
                    "can access (cuMemRetainAllocationHandle: CUDA_ERROR_INVALID_VALUE)",
                    PhysicalMemory::retain_from(1, page));
    failures.expect("MappedRange::set_access: device 7 does not exist; the number of devices is 1 "
                    "(cuMemSetAccess: CUDA_ERROR_INVALID_VALUE)",
                    mapped.set_access(nowhere));
    failures.expect("MappedRange::get_access: the MappedRange is empty",
                    MappedRange().get_access(device));
    const auto stream = ok(Stream::create(context));
    failures.expect("MappedRange::release_after: the MappedRange is empty",
                    MappedRange().release_after(stream));
    failures.expect(
        "MappedRange::release_after: the mapping is borrowed; call release_after() of its owner",
        MappedRange::borrow(1, page).release_after(stream));

    auto growable = ok(GrowableBuffer<int>::create(device, 10));
    failures.expect("GrowableBuffer::create: 18446744073709551615 elements of 4 bytes exceed the "
                    "address space",
                    GrowableBuffer<int>::create(device, all));
    failures.expect("GrowableBuffer::resize: size 1048576 exceeds the capacity of 524288 "
                    "elements; call reserve() first",
                    growable.resize(1 << 20));
    failures.expect("GrowableBuffer::reserve: the GrowableBuffer is empty; create it with "
                    "GrowableBuffer::create()",
                    GrowableBuffer<int>().reserve(1));
    failures.expect("GrowableBuffer::set_access: device 7 does not exist; the number of devices "
                    "is 1 (cuMemSetAccess: CUDA_ERROR_INVALID_VALUE)",
                    growable.set_access(nowhere));
    failures.expect("GrowableBuffer::get_access: the GrowableBuffer is empty; create it "
                    "with GrowableBuffer::create()",
                    GrowableBuffer<int>().get_access(device));
    failures.expect("GrowableBuffer::release_after: the Stream is empty",
                    growable.release_after(Stream()));
    auto large = ok(GrowableBuffer<int>::create(device, 32 << 20));
    failures.expect("GrowableBuffer::resize: 134217728 bytes requested, 65011712 free "
                    "(cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY)",
                    large.resize(32 << 20));
    REQUIRE(growable.resize(1));
    REQUIRE(growable.resize(0));
    always_fail_after("cuMemUnmap");
    failures.expect("GrowableBuffer::shrink_to_fit: unknown error (cuMemUnmap: "
                    "CUDA_ERROR_UNKNOWN)",
                    growable.shrink_to_fit());
    REQUIRE(growable.resize(1));
    failures.expect("GrowableBuffer::close: unknown error (cuMemUnmap: CUDA_ERROR_UNKNOWN)",
                    growable.close());
}

void expect_pools(Failures &failures) {
    (void)context_of("");
    const MemoryPool none;
    failures.expect("MemoryPool::create: MemoryPoolOptions::win32_attributes is set, but "
                    "exportable.win32 is not; set both or neither",
                    MemoryPool::create(device, {.exportable = {}, .win32_attributes = &failures}));
    failures.expect("MemoryPool::adopt: the handle is null", MemoryPool::adopt(nullptr));
    failures.expect("MemoryPool::set_current: the MemoryPool is empty", none.set_current(device));
    failures.expect("MemoryPool::release_threshold: the MemoryPool is empty",
                    none.release_threshold());
    failures.expect("MemoryPool::set_release_threshold: the MemoryPool is empty",
                    none.set_release_threshold(1));
    failures.expect("MemoryPool::reuse: the MemoryPool is empty", none.reuse());
    failures.expect("MemoryPool::set_reuse: the MemoryPool is empty", none.set_reuse({}));
    failures.expect("MemoryPool::usage: the MemoryPool is empty", none.usage());
    failures.expect("MemoryPool::reset_high_marks: the MemoryPool is empty",
                    none.reset_high_marks());
    failures.expect("MemoryPool::trim_to: the MemoryPool is empty", none.trim_to(0));
    failures.expect("MemoryPool::get_access: the MemoryPool is empty", none.get_access(device));
    failures.expect("MemoryPool::export_pointer: the address is null",
                    MemoryPool::export_pointer(0));
    const auto pool = ok(MemoryPool::create(device));
    failures.expect("MemoryPool::get_access: device 7 does not exist; the number of devices is 1 "
                    "(cuMemPoolGetAccess: CUDA_ERROR_INVALID_VALUE)",
                    pool.get_access(Device::from_native(7)));
    failures.expect("MemoryPool::export_pointer: address 0x1 is not in memory of an exported "
                    "pool; call export_fd(), export_win32() or export_fabric() first "
                    "(cuMemPoolExportPointer: CUDA_ERROR_INVALID_VALUE)",
                    MemoryPool::export_pointer(1));
    const AccessGrant grants[] = {{Device::from_native(7), AccessFlags::read},
                                  {Device::from_native(8), AccessFlags::read_write}};
    failures.expect("MemoryPool::set_access: device 7 does not exist; the number of devices is 1 "
                    "(cuMemPoolSetAccess: CUDA_ERROR_INVALID_DEVICE)",
                    pool.set_access(grants));
    (void)context_of("attribute.102=0;attribute.115=0");
    constexpr auto lacking = ErrorKind::not_supported_by_device;
    failures.expect("Granularity::of: device 0 does not support virtual memory management; use "
                    "DeviceBuffer::allocate()",
                    Granularity::of(device), lacking);
    failures.expect("AddressRange::reserve: device 0 does not support virtual memory management; "
                    "use DeviceBuffer::allocate()",
                    AddressRange::reserve(device, page), lacking);
    failures.expect("GrowableBuffer::create: device 0 does not support virtual memory management; "
                    "use DeviceBuffer::allocate()",
                    GrowableBuffer<int>::create(device, 1), lacking);
    failures.expect("MemoryPool::default_of: device 0 does not support memory pools; use "
                    "DeviceBuffer::allocate()",
                    MemoryPool::default_of(device), lacking);
    failures.expect("MemoryPool::current_of: device 0 does not support memory pools; use "
                    "DeviceBuffer::allocate()",
                    MemoryPool::current_of(device), lacking);
}

// Each system has one way to share.
void expect_handles(Failures &failures) {
    (void)context_of("");
#ifdef _WIN32
    constexpr bool is_windows = true;
#else
    constexpr bool is_windows = false;
#endif
    const auto expect = [&](const std::string &function, bool possible, const char *otherwise,
                            const char *why, const auto &result) {
        failures.expect(function + ": " + (possible ? why : otherwise), result,
                        possible ? ErrorKind::invalid_argument : ErrorKind::unsupported_platform);
    };
    const auto descriptor = [&](const char *function, const char *why, const auto &result) {
        expect(function, !is_windows,
               "file descriptors are not supported on Windows; use Windows handles (win32, "
               "export_win32(), import_win32())",
               why, result);
    };
    const auto handle = [&](const char *function, const char *why, const auto &result) {
        expect(function, is_windows,
               "Windows handles are not supported on this platform; use file descriptors "
               "(posix_fd, export_fd(), import_fd())",
               why, result);
    };
    constexpr int closed = 1 << 20;
    const char *const no_descriptor = "file descriptor 1048576 is not open";
    descriptor("PhysicalMemory::export_fd", "the PhysicalMemory is empty",
               PhysicalMemory().export_fd());
    descriptor("PhysicalMemory::import_fd", no_descriptor, PhysicalMemory::import_fd(closed, page));
    descriptor("MemoryPool::export_fd", "the MemoryPool is empty", MemoryPool().export_fd());
    descriptor("MemoryPool::import_fd", no_descriptor, MemoryPool::import_fd(closed));
    descriptor(
        "PhysicalMemory::export_fd",
        "the memory was not created exportable; set PhysicalMemoryOptions::exportable.posix_fd "
        "(cuMemExportToShareableHandle: CUDA_ERROR_INVALID_VALUE)",
        ok(PhysicalMemory::create(device, page)).export_fd());
    descriptor("MemoryPool::export_fd",
               "the pool was not created exportable; set MemoryPoolOptions::exportable.posix_fd "
               "(cuMemPoolExportToShareableHandle: CUDA_ERROR_INVALID_VALUE)",
               ok(MemoryPool::create(device)).export_fd());
    handle("PhysicalMemory::export_win32", "the PhysicalMemory is empty",
           PhysicalMemory().export_win32());
    handle("PhysicalMemory::import_win32", "the handle is null",
           PhysicalMemory::import_win32(nullptr, 1));
    handle("MemoryPool::export_win32", "the MemoryPool is empty", MemoryPool().export_win32());
    handle("MemoryPool::import_win32", "the handle is null", MemoryPool::import_win32(nullptr));
}

void expect_fabric(Failures &failures) {
    (void)context_of("fault=cuMemPoolImportFromShareableHandle:1:1");
    if (!supports(driver_version(), Feature::fabric_handles)) {
        failures.functions.insert({"MemoryPool::export_fabric", "MemoryPool::import_fabric",
                                   "PhysicalMemory::export_fabric", "PhysicalMemory::import_fabric",
                                   "PhysicalMemory::fabric_works"});
        return;
    }
    failures.expect("PhysicalMemory::export_fabric: the PhysicalMemory is empty",
                    PhysicalMemory().export_fabric());
    failures.expect("PhysicalMemory::export_fabric: the memory was not created exportable; set "
                    "PhysicalMemoryOptions::exportable.fabric (cuMemExportToShareableHandle: "
                    "CUDA_ERROR_INVALID_VALUE)",
                    ok(PhysicalMemory::create(device, page)).export_fabric());
    failures.expect("PhysicalMemory::import_fabric: the size is 0",
                    PhysicalMemory::import_fabric({}, 0));
    failures.expect("MemoryPool::export_fabric: the MemoryPool is empty",
                    MemoryPool().export_fabric());
    failures.expect(
        "MemoryPool::import_fabric: CUDA rejected the fabric handle; it is invalid, the exported "
        "memory no longer exists, or the nodes are not in one IMEX domain "
        "(cuMemPoolImportFromShareableHandle: CUDA_ERROR_INVALID_VALUE)",
        MemoryPool::import_fabric({}));
    (void)context_of("fault=cuMemGetAllocationGranularity:1:999");
    failures.expect("PhysicalMemory::fabric_works: unknown error (cuMemGetAllocationGranularity: "
                    "CUDA_ERROR_UNKNOWN)",
                    PhysicalMemory::fabric_works(device));
}

} // namespace

void api_test::expect_memory_failures(Failures &failures) {
    expect_copies(failures);
    expect_device_buffers(failures);
    expect_host_memory(failures);
    expect_managed_buffers(failures);
    expect_typed_buffers(failures);
    expect_virtual_memory(failures);
    expect_pools(failures);
    expect_handles(failures);
    expect_fabric(failures);
}
