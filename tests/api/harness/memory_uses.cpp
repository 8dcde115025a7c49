// Uses of device, host and managed memory.
#include "uses.hpp"

#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pitched_buffer.hpp>
#include <cushim/virtual_memory.hpp>

#include <algorithm>

namespace api_test {
namespace {

using namespace cushim;

constexpr std::size_t count = 5000;

bool all_are(std::span<const int> values, int value) {
    return std::all_of(values.begin(), values.end(), [=](int found) { return found == value; });
}

Result<void> use_device_buffers(const Workplace &place) {
    const std::vector<int> values(count, 3);
    CUSHIM_TRY(auto from, DeviceBuffer<int>::copy_of(place.context, values));
    CUSHIM_TRY(auto to, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY_VOID(must_be_on(place, from.native()));
    CUSHIM_TRY_VOID(must_be_on(place, to.native()));
    CUSHIM_TRY_VOID(copy(place.context, to.span(), from.span()));
    CUSHIM_TRY_VOID(must_be_filled(place.context, to.span(), 3));
    return to.close();
}

Result<void> use_stream_ordered_buffers(const Workplace &place) {
    CUSHIM_TRY_VOID(must_be_in(place, place.stream));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate_async(place.stream, count));
    CUSHIM_TRY_VOID(must_be_on(place, buffer.native()));
    CUSHIM_TRY_VOID(fill(place.stream, buffer.span(), 4));
    CUSHIM_TRY_VOID(place.stream.synchronize());
    CUSHIM_TRY_VOID(must_be_filled(place.context, buffer.span(), 4));
    CUSHIM_TRY_VOID(buffer.free_async(place.stream));
    return place.stream.synchronize();
}

Result<void> use_pitched_buffers(const Workplace &place) {
    const Extent extent{33, 17};
    CUSHIM_TRY(auto image, PitchedBuffer<int>::allocate(place.context, extent));
    CUSHIM_TRY_VOID(must_be_on(place, image.native()));
    CUSHIM_TRY_VOID(fill(place.context, image.span(), 5));
    std::vector<int> values(extent.width * extent.height);
    CUSHIM_TRY(const auto pixels, HostPitchedSpan<int>::of(std::span(values), extent));
    CUSHIM_TRY_VOID(copy(place.context, pixels, image.span()));
    return must(all_are(values, 5), "the image does not hold what was written");
}

Result<void> use_pinned_buffers(const Workplace &place) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY(auto pinned, PinnedBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY_VOID(memory.release_after(place.stream));
    CUSHIM_TRY_VOID(fill(place.stream, memory.span(), 6));
    CUSHIM_TRY_VOID(copy(place.stream, pinned.span(), memory.span()));
    CUSHIM_TRY_VOID(place.stream.synchronize());
    return must(all_are(pinned.span(), 6), "pinned memory does not hold what was copied");
}

Result<void> use_mapped_buffers(const Workplace &place) {
    CUSHIM_TRY(auto mapped, HostMappedBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY_VOID(fill(place.context, mapped.device_span(), 7));
    return must(all_are(mapped.span(), 7), "mapped memory does not hold what was written");
}

Result<void> use_registrations(const Workplace &place) {
    std::vector<int> values(count, 0);
    CUSHIM_TRY(auto pinned, HostRegistration<int>::create(place.context, values));
    CUSHIM_TRY_VOID(fill(place.context, pinned.device_span(), 8));
    CUSHIM_TRY_VOID(pinned.close());
    return must(all_are(values, 8), "registered memory does not hold what was written");
}

Result<void> use_managed_buffers(const Workplace &place) {
    CUSHIM_TRY(auto managed, ManagedBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY_VOID(fill(place.stream, managed.device_span(), 9));
    CUSHIM_TRY(const auto values, managed.synchronized_span(place.stream));
    return must(all_are(values, 9), "managed memory does not hold what was written");
}

// A failed allocation must not leak.
Result<void> use_too_much_memory(const Workplace &place) {
    CUSHIM_TRY(const std::size_t total, place.device.total_memory());
    auto refused = DeviceBuffer<char>::allocate(place.context, 2 * total);
    CUSHIM_TRY_VOID(
        must(!refused && refused.error().kind() == ErrorKind::out_of_memory,
             "an allocation of twice the device's memory did not fail with out_of_memory"));
    const auto invalid = AddressRange::reserve(place.device, 1);
    return must(!invalid, "a reservation of one byte succeeded");
}

constexpr Use uses[] = {
    {"device buffers", use_device_buffers},
    {"stream-ordered buffers", use_stream_ordered_buffers},
    {"pitched buffers", use_pitched_buffers},
    {"pinned buffers", use_pinned_buffers},
    {"mapped buffers of the host", use_mapped_buffers},
    {"registrations of host memory", use_registrations},
    {"managed buffers", use_managed_buffers},
    {"memory that is refused", use_too_much_memory},
};

} // namespace

std::span<const Use> memory_uses() {
    return uses;
}

} // namespace api_test
