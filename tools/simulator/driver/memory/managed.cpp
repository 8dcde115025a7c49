// Managed memory: allocation, advice, prefetches, stream attachment.
#include "memory/managed.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/stream.hpp"

#include <utility>

namespace sim {
namespace {

Place place_of(CUdevice device) {
    return device == CU_DEVICE_CPU ? Place{location::host, CU_DEVICE_CPU}
                                   : Place{location::device, device};
}

#if CUDA_VERSION >= 12020
Place place_of(const CUmemLocation &location) {
    const int type = static_cast<int>(location.type);
    require(type > location::none && type <= location::host_numa_current);
    return {type, type == location::host ? CU_DEVICE_CPU : location.id};
}
#endif

void check_place(const Place &place, CUresult otherwise, const char *reason = "") {
    require(place.type != location::device || (place.id >= 0 && place.id < device_count()),
            otherwise, reason);
    require(place.type != location::host_numa || place.id == 0);
}

void apply(Advice &advice, CUmem_advise what, const Place &place) {
    switch (what) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
        advice.read_mostly = true;
        break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        advice.read_mostly = false;
        break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        advice.preferred = place;
        break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        advice.preferred = {};
        break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
        advice.accessed_by.insert(place.id);
        break;
    default:
        advice.accessed_by.erase(place.id);
        break;
    }
}

template <class Explain>
Range &explained_range(CUdeviceptr address, std::size_t size, const Explain &explained) try {
    return managed_range(address, size);
} catch (const Refusal &) {
    explained();
    throw;
}

void advise(CUdeviceptr address, std::size_t size, CUmem_advise what, const Place &place,
            CUresult wrong_device) {
    current_context();
    require(what >= CU_MEM_ADVISE_SET_READ_MOSTLY && what <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
    const bool about_place = what == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                             what == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                             what == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (about_place) {
        constexpr char about_device[] =
            "Invalid device ordinal specified as device to apply the advise to";
        check_place(place, wrong_device,
                    wrong_device == CUDA_ERROR_INVALID_DEVICE ? about_device : "");
    }
    require(size != 0, "Value of parameter count cannot be 0");
    Range &range = explained_range(address, size, [] {
        explain("Specified pointer must belong to system-allocated memory or managed memory");
    });
    require(range.memory != Memory::pool, CUDA_ERROR_NOT_SUPPORTED);
    managed_state(range).for_each(address - range.base, size,
                                  [&](Advice &advice) { apply(advice, what, place); });
}

void note_prefetch(CUdeviceptr address, std::size_t size, const Place &place) {
    Range &range = managed_range(address, size);
    managed_state(range).for_each(address - range.base, size,
                                  [&](Advice &advice) { advice.last_prefetch = place; });
}

// Work on managed memory that has been checked.
Work managed_work(const Use &use, const char *what, std::function<void(CUstream_st &)> run) {
    Work work;
    work.what = what;
    work.uses = {use};
    work.run = std::move(run);
    return work;
}

// The size up to the end of the memory if the sum of address and size overflows, which the driver
// does not notice.
std::size_t size_inside(CUdeviceptr address, std::size_t size) {
    const Range *range = AddressSpace::get().find(address);
    if (range == nullptr || size <= ~CUdeviceptr(0) - address) {
        return size;
    }
    misuse(std::to_string(size) + " bytes exceed the address space, in " + range->describe());
    return static_cast<std::size_t>(range->base + range->size - address);
}

void prefetch(CUstream handle, CUdeviceptr address, std::size_t count, const Place &place,
              const char *what) {
    const std::size_t size = size_inside(address, count);
    Stream &stream = stream_of(handle);
    check_usable(*stream.context);
    check_place(place, CUDA_ERROR_INVALID_DEVICE,
                "Invalid device ordinal specified as prefetch destination");
    explained_range(address, size, [=] {
        explain("Address range(0x%llx and size: %zu) specified for prefetch must belong to "
                "system-allocated memory or managed memory",
                static_cast<unsigned long long>(address), size);
    });
    refuse_capturing(stream);
    submit(stream, managed_work({address, size}, what,
                                [=](Stream &) { note_prefetch(address, size, place); }));
}

#if CUDA_VERSION >= 13000
// Discarded memory has undefined contents until it is written, so it is overwritten.
void discard(CUdeviceptr address, std::size_t size) {
    __builtin_memset(device_view(address, size, true), 0xcd, size);
}

// Checks the stream and the ranges of a batch. The null stream cannot run batches.
Stream &checked_batch(CUdeviceptr *addresses, size_t *sizes, size_t count, unsigned long long flags,
                      CUstream handle) {
    require(handle != nullptr);
    Stream &stream = stream_of(handle);
    check_usable(*stream.context);
    require(!stream.legacy && count != 0 && addresses != nullptr && sizes != nullptr);
    require(flags == 0, "Specified non-zero flags!");
    for (size_t i = 0; i < count; ++i) {
        managed_range(addresses[i], sizes[i]);
    }
    refuse_capturing(stream);
    return stream;
}

// The location of each range of a batch.
std::vector<Place> places_of(size_t count, CUmemLocation *locations, size_t *first_with,
                             size_t location_count) {
    require(location_count != 0 && location_count <= count && locations != nullptr &&
            first_with != nullptr && first_with[0] == 0);
    std::vector<Place> places;
    size_t location = 0;
    for (size_t i = 0; i < location_count; ++i) {
        require(first_with[i] < count && (i == 0 || first_with[i] > first_with[i - 1]));
        check_place(place_of(locations[i]), CUDA_ERROR_INVALID_VALUE);
    }
    for (size_t i = 0; i < count; ++i) {
        location += location + 1 < location_count && first_with[location + 1] == i ? 1 : 0;
        places.push_back(place_of(locations[location]));
    }
    return places;
}
#endif

// --- attributes of a range: the value that all of its pages share

template <class Value, class Get>
Value common(CUdeviceptr address, std::size_t size, Value otherwise, const Get &get) {
    Range &range = managed_range(address, size);
    bool first = true, same = true;
    Value found = otherwise;
    managed_state(range).for_each(address - range.base, size, [&](const Advice &advice) {
        const Value value = get(advice);
        same = same && (first || value == found);
        found = value;
        first = false;
    });
    return same ? found : otherwise;
}

std::vector<int> accessors(CUdeviceptr address, std::size_t size) {
    const auto ids = common(address, size, std::set<int>(),
                            [](const Advice &advice) { return advice.accessed_by; });
    return {ids.begin(), ids.end()};
}

int range_value(int attribute, CUdeviceptr address, std::size_t size) {
    const auto preferred = [](const Advice &advice) { return advice.preferred; };
    const auto prefetched = [](const Advice &advice) { return advice.last_prefetch; };
    switch (attribute) {
    case 1: // CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY
        return common(address, size, false, [](const Advice &a) { return a.read_mostly; }) ? 1 : 0;
    case 2: { // …PREFERRED_LOCATION
        const Place place = common(address, size, Place(), preferred);
        return place.type > location::device ? CU_DEVICE_CPU : place.id;
    }
    case 6: // …PREFERRED_LOCATION_ID
        return common(address, size, Place(), preferred).id;
    case 4: // …LAST_PREFETCH_LOCATION
    case 8: // …LAST_PREFETCH_LOCATION_ID
        return common(address, size, Place(), prefetched).id;
    case 5: // …PREFERRED_LOCATION_TYPE
        return common(address, size, Place(), preferred).type;
    default: // …LAST_PREFETCH_LOCATION_TYPE
        return common(address, size, Place(), prefetched).type;
    }
}

constexpr int accessed_by = 3, newest_range_attribute = 8;

void check_range_attribute(const void *data, std::size_t data_size, int attribute) {
    require(data != nullptr && attribute >= 1 && attribute <= newest_range_attribute);
    require(attribute == accessed_by ? data_size != 0 && data_size % sizeof(int) == 0
                                     : data_size == sizeof(int));
}

void write_range_attribute(void *data, std::size_t data_size, int attribute, CUdeviceptr address,
                           std::size_t size) {
    auto *values = static_cast<int *>(data);
    if (attribute != accessed_by) {
        *values = range_value(attribute, address, size);
        return;
    }
    const std::vector<int> ids = accessors(address, size);
    for (std::size_t i = 0; i < data_size / sizeof(int); ++i) {
        values[i] = i < ids.size() ? ids[i] : CU_DEVICE_INVALID;
    }
}

} // namespace

Range &managed_range(CUdeviceptr address, std::size_t size) {
    require(size != 0);
    Range &range = device_range(address, size, true);
    require(range.managed);
    return range;
}

ManagedState &managed_state(Range &range) {
    if (range.advice == nullptr) {
        range.advice = std::make_shared<ManagedState>();
    }
    return *range.advice;
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuMemAllocManaged(OUT CUdeviceptr *dptr, size_t bytesize, unsigned int flags) {
    Context &context = current_context();
    require(dptr != nullptr);
    require(bytesize != 0, "Parameter bytesize cannot be 0");
    require(flags != 0, "Parameter flags cannot be 0");
    require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
    Range &range = allocate_on_host(Memory::managed, context.device, bytesize, &context, true);
    range.flags = flags;
    *dptr = static_cast<CUdeviceptr>(range.base);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                            CUdevice device) {
    advise(devPtr, count, advice, place_of(device), CUDA_ERROR_INVALID_DEVICE);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                   CUstream hStream) {
    prefetch(hStream, devPtr, count, place_of(dstDevice), "cuMemPrefetchAsync");
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12020
EXPORT CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                               CUmemLocation location) {
    const bool ignored = advice == CU_MEM_ADVISE_SET_READ_MOSTLY ||
                         advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
                         advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    advise(devPtr, count, advice, ignored ? Place() : place_of(location), CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                      unsigned int flags, CUstream hStream) {
    stream_of(hStream);
    require(flags == 0, "Invalid flags");
    prefetch(hStream, devPtr, count, place_of(location), "cuMemPrefetchAsync");
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 13000
EXPORT CUresult cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                        CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                        size_t numPrefetchLocs, unsigned long long flags,
                                        CUstream hStream) {
    Stream &stream = checked_batch(dptrs, sizes, count, flags, hStream);
    const InUse in_use(stream);
    const auto places = places_of(count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs);
    for (size_t i = 0; i < count; ++i) {
        submit(stream, managed_work({dptrs[i], sizes[i]}, "cuMemPrefetchBatchAsync",
                                    [address = dptrs[i], size = sizes[i], place = places[i]](
                                        Stream &) { note_prefetch(address, size, place); }));
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                       unsigned long long flags, CUstream hStream) {
    Stream &stream = checked_batch(dptrs, sizes, count, flags, hStream);
    const InUse in_use(stream);
    for (size_t i = 0; i < count; ++i) {
        submit(stream, managed_work({dptrs[i], sizes[i]}, "cuMemDiscardBatchAsync",
                                    [address = dptrs[i], size = sizes[i]](Stream &) {
                                        discard(address, size);
                                    }));
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                                  CUmemLocation *prefetchLocs,
                                                  size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                  unsigned long long flags, CUstream hStream) {
    Stream &stream = checked_batch(dptrs, sizes, count, flags, hStream);
    const InUse in_use(stream);
    const auto places = places_of(count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs);
    for (size_t i = 0; i < count; ++i) {
        submit(stream,
               managed_work({dptrs[i], sizes[i]}, "cuMemDiscardAndPrefetchBatchAsync",
                            [address = dptrs[i], size = sizes[i], place = places[i]](Stream &) {
                                discard(address, size);
                                note_prefetch(address, size, place);
                            }));
    }
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                       CUdeviceptr devPtr, size_t count) {
    current_context();
    check_range_attribute(data, dataSize, attribute);
    const std::size_t size = size_inside(devPtr, count);
    managed_range(devPtr, size);
    write_range_attribute(data, dataSize, attribute, devPtr, size);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes,
                                        CUmem_range_attribute *attributes, size_t numAttributes,
                                        CUdeviceptr devPtr, size_t count) {
    current_context();
    require(numAttributes != 0 && data != nullptr && dataSizes != nullptr && attributes != nullptr);
    for (size_t i = 0; i < numAttributes; ++i) {
        check_range_attribute(data[i], dataSizes[i], attributes[i]);
    }
    const std::size_t size = size_inside(devPtr, count);
    managed_range(devPtr, size);
    for (size_t i = 0; i < numAttributes; ++i) {
        write_range_attribute(data[i], dataSizes[i], attributes[i], devPtr, size);
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                       unsigned int flags) {
    Stream &stream = stream_of(hStream);
    check_usable(*stream.context);
    refuse_capturing(stream);
    potentially_unsafe_call();
    if (flags == 0) {
        refuse_fatal("cuStreamAttachMemAsync without a flag");
    }
    require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
            flags == CU_MEM_ATTACH_SINGLE);
    require(flags != CU_MEM_ATTACH_SINGLE || (!stream.legacy && !stream.per_thread));
    const Range &range =
        explained_range(dptr, 1, [] { explain("Invalid managed pointer specified"); });
    require(range.base == dptr && range.memory != Memory::pool);
    if (length != 0 && length != range.size) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Managed allocation specified with incorrect length of %zu. Value should be %zu.",
               length, range.size);
    }
    submit(stream, managed_work({dptr, range.size}, "cuStreamAttachMemAsync", [](Stream &) {}));
    return CUDA_SUCCESS;
}

} // namespace sim::driver
