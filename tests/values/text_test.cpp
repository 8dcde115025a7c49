// Enumerators, empty owners, versions and errors print without a driver.
#include <cushim/cushim.hpp>
#include <cushim/printing.hpp>

#include "check.hpp"
#include "public_types.hpp"

#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

using namespace cushim;

namespace {

struct Printed {
    Text text;
    const char *expected;
};

void check_all(const Printed *printed, std::size_t count) {
    CHECK(count != 0);
    for (std::size_t index = 0; index < count; ++index) {
        INFO(printed[index].expected);
        CHECK(std::string_view(printed[index].text.c_str()) == printed[index].expected);
    }
}

template <class T>
std::string streamed(const T &object) {
    std::ostringstream out;
    out << object;
    return out.str();
}

template <class T>
concept Streams = requires(std::ostream &out, const T &object) { out << object; };

struct Unprintable {};

} // namespace

#define OWNER_PRINTS(name, type)                                                                   \
    static_assert(noexcept(cushim::to_text(std::declval<const type &>())), #name);                 \
    static_assert(Streams<type>, #name);
PUBLIC_OWNERS(OWNER_PRINTS)
static_assert(!Streams<Unprintable> && !Streams<StreamOptions>);
static_assert(!Streams<Result<Stream>>);

TEST_CASE("every enumerator prints as its qualified name") {
#define ROW(type, enumerator) {cushim::to_text(type::enumerator), #type "::" #enumerator},
    const Printed printed[] = {PUBLIC_ENUMERATORS(ROW)};
#undef ROW
    check_all(printed, std::size(printed));
}

TEST_CASE("a value that is not an enumerator prints as its number") {
    const Printed printed[] = {
        {to_text(static_cast<AccessFlags>(2)), "AccessFlags(2)"},
        {to_text(static_cast<Api>(200)), "Api(200)"},
        {to_text(static_cast<CaptureMode>(200)), "CaptureMode(200)"},
        {to_text(static_cast<CaptureStatus>(200)), "CaptureStatus(200)"},
        {to_text(static_cast<ErrorKind>(200)), "ErrorKind(200)"},
        {to_text(static_cast<Feature>(200)), "Feature(200)"},
        {to_text(static_cast<GraphConditionalType>(200)), "GraphConditionalType(200)"},
        {to_text(static_cast<GraphNodeType>(200)), "GraphNodeType(200)"},
        {to_text(static_cast<InstantiateResult>(200)), "InstantiateResult(200)"},
        {to_text(static_cast<GraphUpdateResult>(17)), "GraphUpdateResult(17)"},
        {to_text(static_cast<ManagedAttachment>(4'294'967'295)), "ManagedAttachment(4294967295)"},
    };
    check_all(printed, std::size(printed));
}

TEST_CASE("every empty owner prints as empty") {
#define ROW(name, type) {cushim::to_text(type()), #name "(empty)"},
    const Printed printed[] = {PUBLIC_OWNERS(ROW)};
#undef ROW
    check_all(printed, std::size(printed));
}

TEST_CASE("devices, nodes, named streams and descriptors print") {
    const Printed printed[] = {
        {to_text(Device::from_native(3)), "Device(3)"},
        {to_text(GraphNode()), "GraphNode(empty)"},
        {to_text(Stream::legacy()), "Stream(legacy)"},
        {to_text(Stream::per_thread()), "Stream(per_thread)"},
    };
    check_all(printed, std::size(printed));
    UniqueFd descriptor(1'000'000);
    CHECK(std::string_view(to_text(descriptor).c_str()) == "UniqueFd(1000000)");
    CHECK(descriptor.release() == 1'000'000);
}

TEST_CASE("the longest text is not truncated") {
    const auto memory =
        ExternalMemory::borrow(Context(), reinterpret_cast<CUexternalMemory>(~0ULL), ~0ULL - 1);
    CHECK(std::string_view(to_text(memory).c_str()) ==
          "ExternalMemory(0xffffffffffffffff, 18446744073709551614 bytes, borrowed)");
}

TEST_CASE("every type with to_text() can be written to a stream") {
    CHECK(streamed(GraphUpdateResult::parameters_changed) ==
          "GraphUpdateResult::parameters_changed");
    CHECK(streamed(Event()) == "Event(empty)");
    CHECK(streamed(DeviceBuffer<float>()) == "DeviceBuffer(empty)");
    CHECK(streamed(Version::of(12, 6)) == "12.6");
    const Error error = Error::invalid_argument("7 is not a number");
    CHECK(streamed(error) == error.message());
    std::ostringstream out;
    out.width(12);
    out << Api::driver << '|';
    CHECK(out.str() == " Api::driver|");
}

#ifdef __cpp_lib_format
TEST_CASE("every type with to_text() can be formatted") {
    CHECK(std::format("{}", CaptureMode::relaxed) == "CaptureMode::relaxed");
    CHECK(std::format("[{:>13}]", Event()) == "[ Event(empty)]");
    CHECK(std::format("{:.5}", DeviceBuffer<int>()) == "Devic");
    CHECK(std::format("{}", Version::of(12, 6)) == "12.6");
    const Error error = Error::invalid_argument("7 is not a number");
    CHECK(std::format("{}", error) == error.message());
    CHECK_FALSE(std::is_default_constructible_v<std::formatter<StreamOptions>>);
    CHECK_FALSE(std::is_default_constructible_v<std::formatter<Result<Stream>>>);
}
#endif
