#include "harness/memory.hpp"

#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pitched_buffer.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

using namespace api_test;
using namespace cushim;

namespace {

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

// An image on the host with padding after every row.
struct Image {
    Image(const Extent &of, std::size_t room, int value)
        : extent(of), pitch{(of.width + room) * sizeof(int), of.height},
          values((of.width + room) * of.height * of.depth, value) {}

    Result<HostPitchedSpan<int>> view() { return HostPitchedSpan<int>::of(values, extent, pitch); }

    Extent extent;
    Pitch pitch;
    std::vector<int> values;
};

// Gives each element a different number.
Result<void> number(const HostPitchedSpan<int> &view) {
    int next = 0;
    for (std::size_t z = 0; z < view.depth(); ++z) {
        for (std::size_t y = 0; y < view.height(); ++y) {
            CUSHIM_TRY(const std::span<int> row, view.row(y, z));
            for (int &value : row) {
                value = next++;
            }
        }
    }
    return {};
}

Result<bool> is_numbered(const HostPitchedSpan<int> &view) {
    int next = 0;
    for (std::size_t z = 0; z < view.depth(); ++z) {
        for (std::size_t y = 0; y < view.height(); ++y) {
            CUSHIM_TRY(const std::span<int> row, view.row(y, z));
            for (const int value : row) {
                if (value != next++) {
                    return false;
                }
            }
        }
    }
    return true;
}

// Copies to the device, to another buffer and back; the padding must be unchanged.
Result<void> go_round(const Context &context, const Extent &extent) {
    CUSHIM_TRY(auto first, PitchedBuffer<int>::allocate(context, extent));
    CUSHIM_TRY(auto second, PitchedBuffer<int>::allocate(context, extent));
    Image sent(extent, 3, -1), received(extent, 5, -2);
    CUSHIM_TRY(const auto from, sent.view());
    CUSHIM_TRY(const auto to, received.view());
    CUSHIM_TRY_VOID(number(from));
    CUSHIM_TRY_VOID(copy(context, first.span(), from));
    CUSHIM_TRY_VOID(copy(context, second.span(), first));
    CUSHIM_TRY_VOID(copy(context, to, second));
    CUSHIM_TRY_VOID(check_gives(is_numbered(to), true));
    CHECK(std::count(received.values.begin(), received.values.end(), -2) ==
          static_cast<std::ptrdiff_t>(5 * extent.height * extent.depth));
    return {};
}

// Reads the memory in a stream that does not wait for the default streams.
Result<bool> is_numbered_aside(const Context &context, const DevicePitchedSpan<const int> &span) {
    CUSHIM_TRY(const Stream aside, Stream::create(context, {.non_blocking = true}));
    Image received(span.extent(), 1, -1);
    CUSHIM_TRY(const auto to, received.view());
    CUSHIM_TRY_VOID(copy(aside, to, span));
    CUSHIM_TRY_VOID(aside.synchronize());
    return is_numbered(to);
}

} // namespace

SCENARIO_TEST("rows and layers are copied to the device and back", "[copy_2d]",
              (const Context &context)) {
    CUSHIM_TRY_VOID(go_round(context, {100, 20}));
    return go_round(context, {33, 7, 5});
}

SCENARIO_TEST("a pitched buffer reports its extent and pitch", "[copy_2d]",
              (const Context &context)) {
    CUSHIM_TRY(auto buffer, PitchedBuffer<int>::allocate(context, {100, 20, 3}));
    CHECK(buffer.extent() == Extent{100, 20, 3});
    CHECK(buffer.pitch().row >= 400);
    CHECK(buffer.pitch().row % alignof(int) == 0);
    CHECK(buffer.pitch().layer == 20);
    CHECK(buffer.size_bytes() == buffer.pitch().row * 60);
    CHECK(buffer.native() == reinterpret_cast<CUdeviceptr>(buffer.data()));
    const DevicePitchedSpan<const int> span = buffer;
    CHECK(span.native() == buffer.native());
    CHECK((span.width() == 100 && span.height() == 20 && span.depth() == 3));
    return {};
}

SCENARIO_TEST("copies of rows and layers in a context have completed when they return", "[copy_2d]",
              (const Context &context)) {
    for (const Extent &extent : {Extent{50, 8}, Extent{50, 4, 2}}) {
        CUSHIM_TRY(auto first, PitchedBuffer<int>::allocate(context, extent));
        CUSHIM_TRY(auto second, PitchedBuffer<int>::allocate(context, extent));
        Image sent(extent, 1, -1);
        CUSHIM_TRY(const auto from, sent.view());
        CUSHIM_TRY_VOID(number(from));
        CUSHIM_TRY_VOID(copy(context, first.span(), from));
        CUSHIM_TRY_VOID(check_gives(is_numbered_aside(context, first), true));
        CUSHIM_TRY_VOID(copy(context, second.span(), first));
        CUSHIM_TRY_VOID(check_gives(is_numbered_aside(context, second), true));
    }
    return {};
}

SCENARIO_TEST("copies of rows and layers in a stream run in its order", "[copy_2d]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    for (const Extent &extent : {Extent{50, 8}, Extent{50, 4, 2}}) {
        CUSHIM_TRY(auto sent, PinnedBuffer<int>::copy_of(context, numbers(400)));
        CUSHIM_TRY(auto received, PinnedBuffer<int>::allocate(context, 400));
        CUSHIM_TRY(auto first, PitchedBuffer<int>::allocate(context, extent));
        CUSHIM_TRY(auto second, PitchedBuffer<int>::allocate(context, extent));
        CUSHIM_TRY_VOID(first.release_after(stream));
        CUSHIM_TRY(const auto from, HostPitchedSpan<const int>::of(sent, extent));
        CUSHIM_TRY(const auto to, HostPitchedSpan<int>::of(received, extent));
        CUSHIM_TRY_VOID(copy(stream, first.span(), from));
        CUSHIM_TRY_VOID(copy(stream, second.span(), first));
        CUSHIM_TRY_VOID(fill(stream, first.span(), 0));
        CUSHIM_TRY_VOID(copy(stream, to, second));
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(received.span()[399] == 399);
        CUSHIM_TRY(auto pooled, DeviceBuffer<int>::allocate_async(stream, 400));
        CUSHIM_TRY(const auto there, DevicePitchedSpan<int>::of(pooled.span(), extent));
        CUSHIM_TRY_VOID(copy(stream, there, from));
        received.span()[399] = 0;
        CUSHIM_TRY_VOID(copy(stream, to, there));
        CUSHIM_TRY_VOID(fill(stream, pooled.span(), 0));
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(received.span()[399] == 399);
    }
    return {};
}

SCENARIO_TEST("a part of an image or of layers is copied", "[copy_2d]", (const Context &context)) {
    const auto check = [&context](const Extent &all, const Position &from, const Extent &extent,
                                  const std::vector<int> &expected) -> Result<void> {
        CUSHIM_TRY(auto linear, DeviceBuffer<int>::copy_of(
                                    context, numbers(all.width * all.height * all.depth)));
        CUSHIM_TRY(const auto image, DevicePitchedSpan<const int>::of(linear, all));
        CUSHIM_TRY(const auto part, image.part(from, extent));
        CHECK(part.native() ==
              linear.native() + static_cast<std::size_t>(expected[0]) * sizeof(int));
        std::vector<int> values(expected.size());
        CUSHIM_TRY(const auto to, HostPitchedSpan<int>::of(values, extent));
        CUSHIM_TRY_VOID(copy(context, to, part));
        CHECK(values == expected);
        return {};
    };
    CUSHIM_TRY_VOID(check({10, 6}, {4, 2}, {3, 2}, {24, 25, 26, 34, 35, 36}));
    return check({4, 3, 3}, {1, 0, 1}, {2, 2, 2}, {13, 14, 17, 18, 25, 26, 29, 30});
}

SCENARIO_TEST("filling rows does not change their padding", "[copy_2d]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto linear, DeviceBuffer<short>::allocate(context, 4 * 6 * 3));
    CUSHIM_TRY_VOID(fill(context, linear.span(), 1));
    // 3 layers of 2 rows of 3 elements; a row takes 4 elements, a layer 6 rows.
    CUSHIM_TRY(const auto view,
               DevicePitchedSpan<short>::of(linear, {3, 2, 3}, {4 * sizeof(short), 6}));
    CUSHIM_TRY_VOID(fill(context, view, 2));
    CUSHIM_TRY(const auto part, view.part({0, 0, 2}, {1, 2}));
    CUSHIM_TRY_VOID(fill(stream, part, 3));
    CUSHIM_TRY_VOID(stream.synchronize());
    std::vector<short> values(4 * 6 * 3);
    CUSHIM_TRY_VOID(copy(context, std::span(values), linear.span()));
    for (std::size_t index = 0; index < values.size(); ++index) {
        const std::size_t x = index % 4, y = index / 4 % 6, z = index / 24;
        const bool inside = x < 3 && y < 2;
        CHECK(values[index] == (inside && x < 1 && z == 2 ? 3 : inside ? 2 : 1));
    }
    return {};
}

SCENARIO_TEST("rows are filled with elements of every size", "[copy_2d]",
              (const Context &context)) {
    const auto check = [&context]<class T>(const T &value) -> Result<void> {
        CUSHIM_TRY(auto buffer, PitchedBuffer<T>::allocate(context, {5, 4, 2}));
        CUSHIM_TRY_VOID(fill(context, buffer.span(), value));
        std::vector<T> values(40);
        CUSHIM_TRY(const auto to, HostPitchedSpan<T>::of(values, {5, 4, 2}));
        CUSHIM_TRY_VOID(copy(context, to, buffer));
        CHECK(values == std::vector<T>(40, value));
        return {};
    };
    CUSHIM_TRY_VOID(check(static_cast<unsigned char>(200)));
    CUSHIM_TRY_VOID(check(static_cast<unsigned short>(50000)));
    return check(1.5F);
}

SCENARIO_TEST("images are copied between devices", "[copy_2d]", (Trial &trial), "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const Context here, trial.context());
    CUSHIM_TRY(const Context there, Context::primary(second));
    for (const Extent &extent : {Extent{100, 20}, Extent{10, 8, 3}}) {
        CUSHIM_TRY(auto source, PitchedBuffer<int>::allocate(here, extent));
        CUSHIM_TRY(auto target, PitchedBuffer<int>::allocate(there, extent));
        Image sent(extent, 1, -1);
        CUSHIM_TRY(const auto from, sent.view());
        CUSHIM_TRY_VOID(number(from));
        CUSHIM_TRY_VOID(copy(here, source.span(), from));
        CUSHIM_TRY_VOID(copy(there, target.span(), source));
        CUSHIM_TRY_VOID(check_gives(is_numbered_aside(there, target), true));
    }
    return {};
}

// Without release_after() the simulator would report memory that is freed while work uses it.
SCENARIO_TEST("a pitched buffer waits for its stream before it is freed", "[copy_2d]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto buffer, PitchedBuffer<int>::allocate(context, {100, 20}));
    CUSHIM_TRY_VOID(buffer.release_after(stream));
    CUSHIM_TRY_VOID(fill(stream, buffer.span(), 1));
    return buffer.close();
}

TEST_CASE("copies and fills of empty extents make no CUDA calls", "[copy_2d]") {
    const auto context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    check_no_calls([&] {
        for (const Extent &extent : {Extent{0, 3}, Extent{3, 0}, Extent{3, 3, 0}}) {
            auto buffer = ok(PitchedBuffer<int>::allocate(context, extent));
            CHECK(buffer.empty());
            CHECK(buffer.native() == 0);
            const auto device = ok(DevicePitchedSpan<int>::of({}, extent));
            const auto host = ok(HostPitchedSpan<int>::of({}, extent));
            CHECK(copy(context, device, host).has_value());
            CHECK(copy(context, buffer.span(), host).has_value());
            CHECK(copy(stream, host, device).has_value());
            CHECK(copy(context, device, device).has_value());
            CHECK(fill(context, device, 1).has_value());
            CHECK(fill(stream, device, 1).has_value());
        }
        CHECK(fill(stream, DevicePitchedSpan<int>(), 1).has_value());
    });
}

TEST_CASE("a view that exceeds its memory or its pitch is rejected", "[copy_2d]") {
    std::vector<int> values(60);
    const auto view = [&](const Extent &extent, const Pitch &pitch = {}) {
        return HostPitchedSpan<int>::of(values, extent, pitch);
    };
    REQUIRE(view({10, 6}).has_value());
    CHECK(view({10, 6})->pitch().row == 40);
    CHECK(view({10, 2, 3})->pitch().layer == 2);
    check_refused(view({10, 4}, {80}), "requires 280 bytes, but the memory has 240 bytes");
    check_refused(view({10, 2}, {42}), "row pitch 42");
    check_refused(view({10, 3, 1}, {40, 2}), "layer pitch 2 is smaller than the height of 3");
    check_refused(view({all / 2, 1}), std::to_string(all / 2));
    check_refused(view({1, all}), std::to_string(all));
    check_refused(view({1, 2, all}), std::to_string(all));
    check_refused(view({1, 2, 3}, {40, all}), std::to_string(all));
    // The last row needs no padding.
    CHECK(view({4, 6}, {44}).has_value());
    CHECK_FALSE(view({6, 6}, {44}).has_value());
}

// For spans from unchecked constructors, too, and for the overlap check.
TEST_CASE("a pitch of 0 means rows and layers without padding", "[copy_2d]") {
    const auto context = context_after_restart("");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 60));
    const Extent extent = {5, 4, 3};
    const DevicePitchedSpan<int> memory(buffer.native(), extent, {});
    CHECK(memory.pitch().row == 20);
    CHECK(memory.pitch().layer == 4);
    const DevicePitchedSpan<const int> later(buffer.native() + 8, extent, {});
    check_refused(copy(context, memory, later), "overlap");

    std::vector<int> values(60), back(60);
    std::iota(values.begin(), values.end(), 0);
    CHECK(copy(context, memory, HostPitchedSpan<int>(values.data(), extent, {})).has_value());
    CHECK(copy(context, std::span(back), buffer.span()).has_value());
    CHECK(back == values);
    CHECK(fill(context, memory, 7).has_value());
    CHECK(copy(context, std::span(back), buffer.span()).has_value());
    CHECK(back == std::vector<int>(60, 7));
    // The number of bytes overflows.
    const DevicePitchedSpan<int> wrapping(buffer.native(), {all / 4 + 1, 2}, {});
    check_refused(fill(context, wrapping, 1), "address space");
}

TEST_CASE("a part or a row outside its view is rejected", "[copy_2d]") {
    std::vector<int> values(60);
    const auto view = ok(HostPitchedSpan<int>::of(values, {5, 4, 3}));
    CHECK(view.part({}, view.extent()).has_value());
    CHECK(view.part({5, 4, 3}, {0, 0, 0}).has_value());
    check_refused(view.part({0, 0, 2}, {1, 1, 2}), "layers [2, 4) exceed the depth of 3");
    check_refused(view.part({1, 1, 1}, {all, 1, 1}), std::to_string(all));
    const auto row = view.row(3, 2);
    REQUIRE(row.has_value());
    CHECK(row->data() == values.data() + 55);
    CHECK(row->size() == 5);
    check_refused(view.row(0, 3), "layer 3");
}

TEST_CASE("copies of different extents and fills of invalid spans are rejected", "[copy_2d]") {
    const auto context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(PitchedBuffer<int>::allocate(context, {5, 4, 3}));
    std::vector<int> values(60);
    const auto other = HostPitchedSpan<int>::of(values, {5, 3, 4});
    check_no_calls([&] {
        const std::string said = refusal(copy(context, buffer.span(), *other));
        CHECK(contains(said, "source 5 x 3 x 4, destination 5 x 4 x 3"));
        check_refused(copy(stream, *other, buffer), "5 x 4 x 3");
        check_refused(copy(Context(), buffer.span(), *other), "Context is empty");
        check_refused(copy(Stream(), *other, buffer), "Stream is empty");
        check_refused(fill(Context(), buffer.span(), 1), "Context is empty");
        check_refused(fill(Stream(), buffer.span(), 1), "Stream is empty");
        // From unchecked constructors.
        const DevicePitchedSpan<int> narrow(buffer.native(), {5, 4}, {16, 4});
        check_refused(fill(stream, narrow, 1), "row pitch 16");
        check_refused(copy(context, narrow, narrow), "row pitch 16");
        const DevicePitchedSpan<int> huge(buffer.native(), {5, all, all}, {20, all});
        check_refused(fill(context, huge, 1), "address space");
        const DevicePitchedSpan<int> askew(buffer.native() + 2, {5, 4}, {20, 4});
        check_refused(fill(context, askew, 1), "multiple");
    });
}

TEST_CASE("an invalid or too large pitched buffer is rejected", "[copy_2d]") {
    const auto context = context_after_restart("");
    check_refused(PitchedBuffer<int>::allocate(Context(), {1}), "Context is empty");
    check_refused(PitchedBuffer<int>::allocate(context, {all / 2}), "4 bytes");
    check_refused(PitchedBuffer<int>::allocate(context, {8, all / 8}), "extent 8 x");
    auto large = PitchedBuffer<int>::allocate(context, {std::size_t{1} << 38, 1 << 10});
    REQUIRE_FALSE(large.has_value());
}

TEST_CASE("copies of overlapping rows are rejected, copies of interleaved rows are not",
          "[copy_2d]") {
    const Context context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(PitchedBuffer<int>::allocate(context, {8, 6}));
    REQUIRE(fill(context, buffer.span(), 1).has_value());
    const DevicePitchedSpan<int> whole = buffer.span();
    const auto part = [&](const Position &from, const Extent &extent) {
        return ok(whole.part(from, extent));
    };
    const auto copied = [&](const DevicePitchedSpan<int> &to, const DevicePitchedSpan<int> &from) {
        return copy(context, to, from).has_value() && copy(stream, to, from).has_value();
    };
    const auto overlaps = [&](const DevicePitchedSpan<int> &to,
                              const DevicePitchedSpan<int> &from) {
        return refusal(copy(context, to, from)).find("overlap") != std::string::npos &&
               refusal(copy(stream, to, from)).find("overlap") != std::string::npos;
    };
    CHECK(overlaps(whole, whole));
    // Halves of rows, and of columns.
    CHECK(copied(part({0, 0}, {4, 6}), part({4, 0}, {4, 6})));
    CHECK(copied(part({0, 3}, {8, 3}), part({0, 0}, {8, 3})));
    CHECK(overlaps(part({0, 0}, {4, 6}), part({3, 0}, {4, 6})));
    CHECK(overlaps(part({3, 1}, {4, 5}), part({0, 0}, {4, 5})));
    CHECK(overlaps(part({0, 2}, {8, 3}), part({0, 0}, {8, 3})));
    // Every second row of two columns, and two adjacent or overlapping columns of every row.
    const Pitch pitch = whole.pitch();
    const DevicePitchedSpan<int> every_other(whole.native(), {2, 3}, {2 * pitch.row, 3});
    CHECK(copied(part({2, 0}, {2, 3}), every_other));
    CHECK(overlaps(part({1, 0}, {2, 3}), every_other));
    CHECK(overlaps(part({0, 4}, {2, 2}), DevicePitchedSpan<int>(whole.native() + 2 * pitch.row,
                                                                {2, 2}, {2 * pitch.row, 2})));
    CHECK(copied(part({0, 3}, {2, 1}), part({0, 0}, {2, 1})));
    CHECK(stream.synchronize().has_value());
}

TEST_CASE("views whose number of bytes overflows are rejected", "[copy_2d]") {
    // The sizes in bytes overflow to 4.
    const DeviceSpan<int> device(16, all / sizeof(int) + 2);
    REQUIRE(device.size_bytes() == 4);
    check_refused(DevicePitchedSpan<int>::of(device, {1}), "address space");
    int value = 0;
    const std::span<int> host(&value, all / sizeof(int) + 2);
    check_refused(HostPitchedSpan<int>::of(host, {1}), "address space");
}
